//! Who works with `dcm`, on clusters where it has no more than the least role, and the guard is in force.

use dcm_testenv::{AuditFilter, Cluster, Environment, Route};
use kube::config::Kubeconfig;

use crate::common::installation::{kubectl, timeout};
use crate::common::{OWNED_KINDS, User, guard};
use crate::rights::answer::Answer;
use crate::rights::asked::Asked;
use crate::rights::barrier;
use crate::rights::caller::Caller;
use crate::rights::evaluator::Evaluator;
use crate::rights::matrix::Matrix;

/// All clusters of the environment; the last one is in no logical cloud.
const CLUSTERS: usize = 4;

/// A user of the command, with clusters `real/cluster-1` and so on.
pub(crate) struct Operator {
    user: User,
    /// Whom the clusters take the engine for: nobody else is called so.
    engine: String,
    environment: Environment,
    administrators: Vec<Caller>,
}

impl Operator {
    /// Registers the first clusters with the least role of a level.
    pub(crate) async fn new(name: &str, level: &str, clusters: usize) -> Self {
        let environment = Environment::group("rights", CLUSTERS).await.unwrap();
        let mut administrators = Vec::new();
        for cluster in &environment.clusters()[..clusters] {
            let kubeconfig = Kubeconfig::from_yaml(&cluster.admin_kubeconfig(Route::Direct)).unwrap();
            administrators.push(Caller::new("admin", cluster.name(), kubeconfig).await);
        }
        let engine = format!("engine-of-{name}");
        let operator = Self { user: User::new(), engine, environment, administrators };
        let engine = &operator.engine;
        let guarded = ["cluster", "role", "--level", level, "--name", engine, "--guard", "--user", engine];
        let role = operator.user.run(guarded).done();
        operator.clusters().for_each(|cluster| operator.confine(cluster, &role));
        operator.settled().await;
        for cluster in operator.clusters() {
            guard::is_in_force(cluster, engine).await;
        }
        operator.clusters().for_each(|cluster| operator.add(cluster, level));
        operator
    }

    /// The clusters that are registered.
    fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.environment.clusters().iter().take(self.administrators.len())
    }

    /// Gives the engine the printed role, and nothing else, and confines it.
    fn confine(&self, cluster: &Cluster, role: &str) {
        let name = &self.engine;
        guard::apply(cluster, role);
        let (role, user) = (format!("--clusterrole={name}"), format!("--user={name}"));
        kubectl(cluster, &["create", "clusterrolebinding", name, &role, &user]);
    }

    fn add(&self, cluster: &Cluster, level: &str) {
        let identity = cluster.issue(&self.engine, &[]).unwrap();
        let file = self.user.write("engine.yaml", &cluster.kubeconfig(&identity, Route::Direct));
        let name = format!("real/{}", cluster.name());
        let arguments = ["cluster", "add", &name, "--level", level, "--kubeconfig", file.to_str().unwrap()];
        let added = self.user.run(arguments).done();
        assert!(added.contains("guard   in force\nrights  complete"), "{added}");
    }

    /// The command's user.
    pub(crate) fn user(&self) -> &User {
        &self.user
    }

    #[track_caller]
    pub(crate) fn apply(&self, document: &str) {
        let applied =
            self.user.run_with_input(&["apply", "--timeout", &timeout(), "-f", "-"], document).done();
        assert!(applied.contains("  instantiated  "), "{applied}");
    }

    /// Nothing of it is left afterwards.
    #[track_caller]
    pub(crate) fn terminate(&self, project: &str, cloud: &str) {
        self.user.run(["terminate", cloud, "--project", project, "--timeout", &timeout()]).done();
        let label = format!("dcm.internal/project={project},dcm.internal/logical-cloud={cloud}");
        for cluster in self.clusters() {
            assert_eq!(kubectl(cluster, &["get", OWNED_KINDS, "-A", "-l", &label, "-o", "name"]), "");
        }
    }

    /// Waits until every cluster goes by the rights that are written there.
    async fn settled(&self) {
        futures::future::join_all(self.administrators.iter().map(barrier::wait)).await;
    }

    /// Users of a logical cloud at each of its clusters, with the kubeconfigs that are handed out.
    pub(crate) async fn callers<'a>(
        &self,
        project: &str,
        cloud: &str,
        users: impl Iterator<Item = &'a str>,
    ) -> Vec<Caller> {
        let mut callers = Vec::new();
        for user in users {
            let file = self.user.home().join(format!("{project}-{cloud}-{user}"));
            let path = file.to_str().unwrap();
            self.user.run(["kubeconfig", cloud, "--project", project, "--user", user, "--file", path]).done();
            for cluster in self.clusters() {
                let mut kubeconfig = Kubeconfig::read_from(&file).unwrap();
                kubeconfig.current_context = Some(format!("{user}@{}", cluster.name()));
                callers.push(Caller::new(user, cluster.name(), kubeconfig).await);
            }
        }
        callers
    }

    /// What the clusters answer when they have seen all rights, beside what a document says.
    pub(crate) async fn ask<'a>(
        &self,
        callers: &'a [Caller],
        grid: &'a [Asked],
        document: &Evaluator,
    ) -> Matrix<'a> {
        self.settled().await;
        Matrix::ask(callers, grid, |user, asked| document.answer(user, asked)).await
    }

    /// The same credentials, shown to the cluster that is in no logical cloud.
    pub(crate) async fn outsiders(&self, callers: &[Caller]) -> Vec<Caller> {
        let outside = &self.environment.clusters()[CLUSTERS - 1];
        futures::future::join_all(callers.iter().map(|caller| caller.moved(outside))).await
    }

    /// Who may do everything is refused nothing: so no refusal of another is for a request that can't be.
    pub(crate) async fn every_request_is_possible(&self, grid: &[Asked]) {
        Matrix::ask(&self.administrators, grid, |_, _| Answer::Allowed).await.is_as_expected();
    }

    /// No cluster refused the engine anything but what is rehearsed to see the guard refuse it.
    #[track_caller]
    pub(crate) fn engine_was_never_refused(&self) {
        for cluster in self.clusters() {
            let of_engine = AuditFilter::new().user(&self.engine);
            assert!(!cluster.audit_log().matching(&of_engine).unwrap().is_empty());
            let refused = cluster.audit_log().matching(&of_engine.code(403).dry_run(false)).unwrap();
            assert!(refused.is_empty(), "{refused:#?}");
        }
    }
}
