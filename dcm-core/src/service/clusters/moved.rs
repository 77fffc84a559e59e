//! Whether a registered kubeconfig leads where the cluster's identity was accepted.
//!
//! The UID of a cluster is its own claim, which any server can copy. So a kubeconfig with another endpoint (server, authorities, TLS
//! server name or proxy) is not used for a cluster that something was deployed to, until a caller has accepted the endpoint. Another
//! credential keeps the endpoint. Where the synchronizer knows no identity yet, a new endpoint is accepted as it is registered:
//! nothing that was deployed can be taken from the cluster.

use crate::hash::ContentHash;
use crate::name::ClusterId;
use crate::port::cluster::ClusterUid;
use crate::secret::Secret;
use crate::service::documents::{ClusterDocument, endpoint};
use crate::service::error::{Error, Kind};
use crate::service::load::CONTENTION_TRIES;

use super::{RegisteredClusters, Registration};

impl RegisteredClusters {
    /// Whether the kubeconfig of a registration leads to another endpoint than the accepted one, or would once it is registered. False
    /// for a cluster that is not registered.
    ///
    /// # Errors
    /// Errors of the store and the synchronizer.
    pub async fn moves(&self, registration: &Registration) -> Result<bool, Error> {
        let Registration { id, kubeconfig, .. } = registration;
        match self.stored(id).await? {
            Some((stored, _)) => Ok(self.accepted_with(&stored, kubeconfig).await? != endpoint(kubeconfig)),
            None => Ok(false),
        }
    }

    /// Accepts the endpoint of a registered kubeconfig at which the cluster with this UID was found. The UID is held for this name.
    /// Nothing is kept in the audit log.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Contended`] where the registered kubeconfig leads to another endpoint by now;
    /// [`Error::Synchronizer`] with [`SameCluster`](crate::port::synchronizer::Error::SameCluster) where the cluster is registered
    /// under another name; errors of the store and the synchronizer.
    pub async fn accept_endpoint(
        &self,
        Registration { id, kubeconfig, .. }: &Registration,
        uid: &ClusterUid,
    ) -> Result<(), Error> {
        self.hold(id, Some(uid)).await?;
        let found = endpoint(kubeconfig);
        for _ in 0..CONTENTION_TRIES {
            match self.accept_once(id, found).await {
                Err(error) if error.is_lost_race() => {}
                accepted => return accepted,
            }
        }
        Err(Error::contended(Kind::Cluster, id))
    }

    async fn accept_once(&self, id: &ClusterId, found: ContentHash) -> Result<(), Error> {
        let stored = self.stored(id).await?;
        let (stored, version) = stored.ok_or_else(|| Error::not_found(Kind::Cluster, id))?;
        if endpoint(&stored.kubeconfig) != found {
            return Err(Error::contended(Kind::Cluster, id));
        }
        if !stored.is_moved() {
            return Ok(());
        }
        let document = ClusterDocument { accepted_endpoint: Some(found), ..stored };
        self.write(Some(version), &document).await
    }

    /// The endpoint that is accepted once this kubeconfig takes the place of the stored one.
    pub(super) async fn accepted_with(
        &self,
        stored: &ClusterDocument,
        kubeconfig: &Secret,
    ) -> Result<ContentHash, Error> {
        let (accepted, next) = (stored.accepted(), endpoint(kubeconfig));
        if accepted == next || *kubeconfig == stored.kubeconfig {
            return Ok(accepted);
        }
        let known = self.synchronizer.identity(&stored.id).await.map_err(Error::Synchronizer)?;
        Ok(if known.is_some() { accepted } else { next })
    }
}
