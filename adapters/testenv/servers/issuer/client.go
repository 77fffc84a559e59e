package main

import (
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The scope that puts the groups into tokens.
const scopeGroups = "groups"

// A program on its user's machine: it has no secret (PKCE stands in for it), and gets its codes on a loopback address.
type client struct {
	id       string
	lifetime time.Duration
}

func (c client) GetID() string { return c.id }
func (c client) RedirectURIs() []string {
	return []string{"http://127.0.0.1/callback", "http://localhost/callback"}
}
func (c client) PostLogoutRedirectURIs() []string    { return nil }
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }
func (c client) AuthMethod() oidc.AuthMethod         { return oidc.AuthMethodNone }
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c client) GrantTypes() []oidc.GrantType         { return []oidc.GrantType{oidc.GrantTypeCode} }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c client) IDTokenLifetime() time.Duration       { return c.lifetime }
func (c client) DevMode() bool                        { return false }
func (c client) IsScopeAllowed(scope string) bool     { return scope == scopeGroups }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) ClockSkew() time.Duration             { return 0 }

// Nobody is asked to log in: the way to the login page is the way back from it.
func (c client) LoginURL(id string) string { return "/authorize/callback?id=" + id }

func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string     { return slices.Clone }
func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return slices.Clone }
