package store

// Layers are the rows that make up one connection, for tests of how they are put together.
type Layers struct {
	Key       Key
	Own       *Desired
	Shared    *AccountDesired
	Workspace *Workspace
	OfAccount *Intent
	OfPlace   *Intent
}

// Merge puts layers together.
func Merge(l Layers) (Effective, bool) {
	return merge(layers{key: l.Key, own: l.Own, shared: l.Shared, workspace: l.Workspace, ofAccount: l.OfAccount, ofPlace: l.OfPlace})
}
