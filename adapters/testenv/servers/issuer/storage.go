package main

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

var (
	errUnknown     = errors.New("there is no such thing")
	errUnsupported = errors.New("this issuer does not do that")
)

// Everything that the issuer knows.
type storage struct {
	signer   *signer
	lifetime time.Duration
	clients  []string
	users    map[string][]string

	mutex    sync.Mutex
	requests map[string]*request
	codes    map[string]string
}

// Somebody who wants a token, through a client.
type request struct {
	*oidc.AuthRequest
	id   string
	user string
	at   time.Time
}

func (r *request) GetID() string                      { return r.id }
func (r *request) GetACR() string                     { return "" }
func (r *request) GetAMR() []string                   { return nil }
func (r *request) GetAudience() []string              { return []string{r.ClientID} }
func (r *request) GetAuthTime() time.Time             { return r.at }
func (r *request) GetClientID() string                { return r.ClientID }
func (r *request) GetNonce() string                   { return r.Nonce }
func (r *request) GetRedirectURI() string             { return r.RedirectURI }
func (r *request) GetResponseType() oidc.ResponseType { return r.ResponseType }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.ResponseMode }
func (r *request) GetScopes() []string                { return r.Scopes }
func (r *request) GetState() string                   { return r.State }
func (r *request) GetSubject() string                 { return r.user }
func (r *request) Done() bool                         { return true }

func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	if r.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

func newStorage(signer *signer, lifetime time.Duration, clients []string, users map[string][]string) *storage {
	return &storage{
		signer: signer, lifetime: lifetime, clients: clients, users: users,
		requests: map[string]*request{}, codes: map[string]string{},
	}
}

func (s *storage) CreateAuthRequest(_ context.Context, asked *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	if _, known := s.users[asked.LoginHint]; !known {
		return nil, oidc.ErrAccessDenied().WithDescription("there is no such user")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made := &request{AuthRequest: asked, id: rand.Text(), user: asked.LoginHint, at: time.Now()}
	s.requests[made.id] = made
	return made, nil
}

func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found, known := s.requests[id]; known {
		return found, nil
	}
	return nil, errUnknown
}

func (s *storage) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mutex.Lock()
	id := s.codes[code]
	s.mutex.Unlock()
	return s.AuthRequestByID(ctx, id)
}

func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.codes[code] = id
	return nil
}

func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.requests, id)
	return nil
}

func (s *storage) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	return rand.Text(), time.Now().Add(s.lifetime), nil
}

func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.signer, nil }

func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{s.signer.algorithm}, nil
}

func (s *storage) KeySet(context.Context) ([]op.Key, error) { return []op.Key{public{s.signer}}, nil }

func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if slices.Contains(s.clients, id) {
		return client{id: id, lifetime: s.lifetime}, nil
	}
	return nil, errUnknown
}

func (s *storage) SetUserinfoFromRequest(
	_ context.Context, info *oidc.UserInfo, asked op.IDTokenRequest, scopes []string,
) error {
	s.describe(info, asked.GetSubject(), scopes)
	return nil
}

// Says what the scopes ask for. Each user has an address.
func (s *storage) describe(info *oidc.UserInfo, user string, scopes []string) {
	info.Subject = user
	if slices.Contains(scopes, oidc.ScopeProfile) {
		info.PreferredUsername = user
	}
	if slices.Contains(scopes, oidc.ScopeEmail) {
		info.Email, info.EmailVerified = user+"@example.com", true
	}
	if slices.Contains(scopes, scopeGroups) {
		info.AppendClaims("groups", s.users[user])
	}
}

func (s *storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

func (s *storage) Health(context.Context) error { return nil }

// What follows has no part in how users get tokens.

func (s *storage) AuthorizeClientIDSecret(context.Context, string, string) error {
	return errUnsupported
}

func (s *storage) CreateAccessAndRefreshTokens(
	context.Context, op.TokenRequest, string,
) (string, string, time.Time, error) {
	return "", "", time.Time{}, errUnsupported
}

func (s *storage) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, errUnsupported
}

func (s *storage) TerminateSession(context.Context, string, string) error { return errUnsupported }

func (s *storage) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError().WithParent(errUnsupported)
}

func (s *storage) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

func (s *storage) SetUserinfoFromToken(context.Context, *oidc.UserInfo, string, string, string) error {
	return errUnsupported
}

func (s *storage) SetIntrospectionFromToken(
	context.Context, *oidc.IntrospectionResponse, string, string, string,
) error {
	return errUnsupported
}

func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnsupported
}

func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnsupported
}
