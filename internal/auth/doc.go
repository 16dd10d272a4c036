// Package auth tells who asks and what they may do. Whoever asks shows an API token, hft_<id>_<secret>: the store keeps the
// SHA-256 of its secret, which a token of 256 random bits needs no salt or slow hash for, and the comparison takes the same
// time for every wrong secret. A token is one of three roles, and a role may do what the lesser ones may.
//
// Everything fails closed: what is missing, damaged, expired, revoked or of an unknown role may do nothing.
package auth
