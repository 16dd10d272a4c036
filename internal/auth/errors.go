package auth

import "time"

// UnauthorizedError means that nothing was shown that lets anybody in. It is [ErrUnauthorized].
type UnauthorizedError struct {
	// Problem is what is wrong with what was shown, in words for whoever shows it; empty: nothing was shown.
	Problem string
}

func (e *UnauthorizedError) Error() string {
	if e.Problem == "" {
		return ErrUnauthorized.Error()
	}
	return e.Problem
}

// Is makes it [ErrUnauthorized].
func (e *UnauthorizedError) Is(target error) bool { return target == ErrUnauthorized }

// Shown reports whether a token was shown that is not valid.
func (e *UnauthorizedError) Shown() bool { return e.Problem != "" }

// ForbiddenError means that it is known who asks, and that they may not come in whatever they ask for.
type ForbiddenError struct {
	Code    string // no_role, no_organisation, wrong_organisation, no_account
	Message string
}

func (e *ForbiddenError) Error() string { return e.Message }

// UnavailableError means that who asks cannot be told now. What was shown may be good.
type UnavailableError struct {
	What       string // [WhatStore] or [WhatProvider]
	RetryAfter time.Duration
	Err        error // for logs
}

func (e *UnavailableError) Error() string { return "the " + e.What + " cannot be reached: try again" }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// What may not be reached.
const (
	WhatStore    = "store"
	WhatProvider = "identity provider"
)

const retryAfter = 2 * time.Second

func unavailable(what string, err error) error {
	return &UnavailableError{What: what, RetryAfter: retryAfter, Err: err}
}

func forbidden(code, message string) error { return &ForbiddenError{Code: code, Message: message} }
