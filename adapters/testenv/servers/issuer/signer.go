package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"

	jose "github.com/go-jose/go-jose/v4"
)

// The key that tokens are signed with.
type signer struct {
	id        string
	algorithm jose.SignatureAlgorithm
	key       crypto.Signer
}

func newSigner(algorithm string) (*signer, error) {
	key, err := newKey(jose.SignatureAlgorithm(algorithm))
	if err != nil {
		return nil, err
	}
	return &signer{id: rand.Text(), algorithm: jose.SignatureAlgorithm(algorithm), key: key}, nil
}

func newKey(algorithm jose.SignatureAlgorithm) (crypto.Signer, error) {
	switch algorithm {
	case jose.RS256, jose.PS256:
		return rsa.GenerateKey(rand.Reader, 2048)
	case jose.ES256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.EdDSA:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("the algorithm %q is not known", algorithm)
}

func (s *signer) ID() string                                  { return s.id }
func (s *signer) SignatureAlgorithm() jose.SignatureAlgorithm { return s.algorithm }
func (s *signer) Key() any                                    { return s.key }

// What is published of it.
type public struct{ *signer }

func (p public) Algorithm() jose.SignatureAlgorithm { return p.algorithm }
func (p public) Use() string                        { return "sig" }
func (p public) Key() any                           { return p.key.Public() }
