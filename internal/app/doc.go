// Package app composes the modules of a process from its settings. The mains and `holdfast dev` start what it returns;
// it holds no logic of its own.
package app
