package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// tokenItem is a token without its secret.
type tokenItem struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Role       auth.Role  `json:"role"`
	Account    string     `json:"account,omitempty"`
	Live       bool       `json:"live"`
	CreatedAt  *time.Time `json:"createdAt"`
	CreatedBy  string     `json:"createdBy,omitempty"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
}

func (a *API) tokenItem(row store.APIToken) tokenItem {
	return tokenItem{
		ID: row.ID, Name: row.Name, Role: auth.Role(row.Role), Account: row.Account, Live: auth.Live(row, a.now()), CreatedAt: views.Moment(row.CreatedAt),
		CreatedBy: row.CreatedBy, ExpiresAt: views.Moment(row.ExpiresAt), LastUsedAt: views.Moment(row.LastUsedAt), RevokedAt: views.Moment(row.RevokedAt),
	}
}

// tokenList are all tokens, the newest first.
type tokenList struct {
	Items []tokenItem `json:"items"`
}

// tokenMade is a new token. Its secret is told this one time.
type tokenMade struct {
	tokenItem

	Token string `json:"token"`
}

// tokenBody says what token is wanted.
type tokenBody struct {
	Name string    `json:"name"`
	Role auth.Role `json:"role"`
	// Account is whose sessions and executions the bearer's are; empty: nobody else's.
	Account string `json:"account,omitempty"`
	// ExpiresIn is a duration such as 720h; empty: until it is revoked.
	ExpiresIn string `json:"expiresIn,omitempty"`
}

func getTokens(a *API, c *call) (*reply, error) {
	rows, err := fromStore(c.Context(), a, a.Tokens.List)
	if err != nil {
		return nil, err
	}
	list := tokenList{Items: []tokenItem{}}
	for _, row := range rows {
		list.Items = append(list.Items, a.tokenItem(row))
	}
	return ok(list)
}

func postToken(a *API, c *call) (*reply, error) {
	var body tokenBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	request := auth.Request{Name: body.Name, Role: body.Role, Account: body.Account, By: c.principal.ID}
	if body.ExpiresIn != "" {
		d, err := time.ParseDuration(body.ExpiresIn)
		if err != nil || d <= 0 {
			return nil, failf(CodeInvalidPayload, "expiresIn must be a duration such as 720h.")
		}
		request.ExpiresIn = d
	}
	type made struct {
		secret auth.Secret
		row    store.APIToken
	}
	got, err := fromStore(c.Context(), a, func(ctx context.Context) (made, error) {
		secret, row, err := a.Tokens.Create(ctx, request)
		var wrong *auth.RequestError
		if errors.As(err, &wrong) {
			err = failf(CodeInvalidPayload, "A token needs something else: %s.", wrong.Problem)
		}
		return made{secret, row}, err
	})
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusCreated, body: tokenMade{tokenItem: a.tokenItem(got.row), Token: got.secret.Reveal()}}, nil
}

// revoked is the answer of a revocation.
type revoked struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
}

func deleteToken(a *API, c *call) (*reply, error) {
	id := c.path("id")
	_, err := fromStore(c.Context(), a, func(ctx context.Context) (struct{}, error) {
		err := a.Tokens.Revoke(ctx, id)
		if errors.Is(err, auth.ErrNoToken) {
			err = fail(CodeTokenNotFound)
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	return ok(revoked{ID: id, Revoked: true})
}
