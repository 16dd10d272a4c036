// Package origin tells by which names the gateway is reached, and which pages may call it. A page whose name was made to point here
// (DNS rebinding) sends requests under that name, and a browser takes the answers for that page's own; an address cannot be made to
// point elsewhere.
package origin
