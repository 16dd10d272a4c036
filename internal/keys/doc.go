// Package keys owns the two keysets of an installation: an AEAD keyset that seals secret columns and payloads, and a MAC keyset
// that makes revisions. They are created once, under a lock, and never replaced: a keyset that cannot be used is refused in words
// that name the file, because a new one would make everything sealed so far unreadable without saying so.
//
// The store, the payload codec and the revision of a desired config use it. The AEAD keyset can be rotated while processes run;
// the MAC keyset never is, since every revision would change with it.
package keys
