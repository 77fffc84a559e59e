package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

const (
	// Length of a message's head, whose first number is the length of the whole.
	headBytes = 16
	// Longest message of the protocol.
	messageBytesMax = 48_000_000
	// Where the head says what kind of message it is.
	opCodeOffset = 12
	// The kind that begins with flags, and the flag that no answer is wanted.
	opMsg      = 2013
	moreToCome = 2
)

// Hands on the requests of all clients, one at a time, each to the answer.
type front struct {
	dial func() (net.Conn, error)
	turn sync.Mutex
}

func listener(address, certificate, key string) (net.Listener, error) {
	if certificate == "" {
		return net.Listen("tcp", address)
	}
	identity, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{identity}})
}

func (f *front) serve(clients net.Listener) {
	for {
		client, err := clients.Accept()
		if err != nil {
			return
		}
		go f.follow(client)
	}
}

// Serves one client until it goes, or the server behind does.
func (f *front) follow(client net.Conn) {
	defer client.Close()
	server, err := f.dial()
	if err != nil {
		return
	}
	defer server.Close()
	for {
		request, err := read(client)
		if err != nil {
			return
		}
		answer, err := f.ask(server, request)
		if err != nil {
			return
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

func (f *front) ask(server net.Conn, request []byte) ([]byte, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	if _, err := server.Write(request); err != nil {
		return nil, err
	}
	if !wantsAnswer(request) {
		return nil, nil
	}
	return read(server)
}

func read(from io.Reader) ([]byte, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < headBytes || length > messageBytesMax {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	message := make([]byte, length)
	copy(message, head[:])
	_, err := io.ReadFull(from, message[headBytes:])
	return message, err
}

func wantsAnswer(request []byte) bool {
	isMessage := binary.LittleEndian.Uint32(request[opCodeOffset:]) == opMsg
	return !isMessage || len(request) < headBytes+4 || request[headBytes]&moreToCome == 0
}
