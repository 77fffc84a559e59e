// An OpenID Connect issuer for tests: the protocol is that of a certified implementation, over accounts, clients and a signing key
// that are all in memory. Whoever says who they are is believed (`login_hint`): there is no password and no page to log in.
//
// Each start makes a new signing key.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:5556", "the address that clients connect to, also the issuer")
	certificate := flag.String("certificate", "", "the server's certificate in PEM")
	key := flag.String("key", "", "the key of the certificate in PEM")
	algorithm := flag.String("algorithm", "RS256", "what tokens are signed with: RS256, PS256, ES256, ES384 or EdDSA")
	lifetime := flag.Duration("lifetime", time.Hour, "how long tokens are valid")
	clients := flag.String("clients", "", "the ids of clients, with commas between them")
	users := map[string][]string{}
	flag.Func("user", "a user and their groups: name=group,group", func(text string) error {
		name, groups, _ := strings.Cut(text, "=")
		users[name] = strings.FieldsFunc(groups, func(character rune) bool { return character == ',' })
		return nil
	})
	flag.Parse()

	if err := run(*listen, *certificate, *key, *algorithm, *lifetime, strings.Split(*clients, ","), users); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(
	listen, certificate, key, algorithm string, lifetime time.Duration, clients []string, users map[string][]string,
) error {
	identity, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	signer, err := newSigner(algorithm)
	if err != nil {
		return err
	}
	config := op.Config{CodeMethodS256: true}
	if _, err := rand.Read(config.CryptoKey[:]); err != nil {
		return err
	}
	storage := newStorage(signer, lifetime, clients, users)
	provider, err := op.NewProvider(&config, storage, op.StaticIssuer("https://"+listen))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := http.Server{
		Handler:   provider,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS12},
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
