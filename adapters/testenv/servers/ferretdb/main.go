// A server that speaks the MongoDB wire protocol over SQLite, without transactions and change streams.
//
// FerretDB reads a document and writes it back in two steps, so that of two conditional updates at once both may find what they
// ask for; MongoDB changes a document in one step. The front makes up for it: it hands on one request at a time.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "the address that clients connect to")
	folder := flag.String("folder", "", "the folder of the databases, which must exist")
	certificate := flag.String("certificate", "", "the server's certificate in PEM; with it the server speaks TLS")
	key := flag.String("key", "", "the key of the certificate in PEM")
	flag.Parse()

	if err := run(*listen, *folder, *certificate, *key); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(listen, folder, certificate, key string) error {
	socket := filepath.Join(folder, "socket")
	// One that was killed leaves it.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{Unix: socket},
		Handler:   "sqlite",
		SQLiteURL: "file:" + folder + "/",
	})
	if err != nil {
		return err
	}
	clients, err := listener(listen, certificate, key)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { clients.Close() })
	front := front{dial: func() (net.Conn, error) { return net.Dial("unix", socket) }}
	go front.serve(clients)
	return server.Run(ctx)
}
