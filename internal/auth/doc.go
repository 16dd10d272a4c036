// Package auth tells who asks and what they may do. Whoever asks shows an API token, hft_<id>_<secret>, or a token of an OpenID
// provider. Of an API token the store keeps the SHA-256 of its secret, which a token of 256 random bits needs no salt or slow hash
// for, and the comparison takes the same time for every wrong secret. Who logs in to a page has a sealed cookie that says by what.
// Everybody is one of three roles, and a role may do what the lesser ones may.
//
// Everything fails closed: what is missing, damaged, expired, revoked or of an unknown role may do nothing. Who is not let in is told
// from who cannot be asked about: nobody loses anything because a store or a provider cannot be reached.
package auth
