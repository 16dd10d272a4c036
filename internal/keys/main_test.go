package keys_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

// openDirVariable turns the test binary into a process that opens one keyset folder and prints a tag made with its MAC keyset
// and a sealed text.
const openDirVariable = "KEYS_TEST_OPEN_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(openDirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := printProof(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func printProof(dir string) error {
	opened, err := keys.Open(dir)
	if err != nil {
		return err
	}
	tag, err := opened.MAC().ComputeMAC([]byte("proof"))
	if err != nil {
		return err
	}
	sealed, err := opened.AEAD().Encrypt([]byte("text"), []byte("place"))
	if err != nil {
		return err
	}
	_, err = fmt.Println(hex.EncodeToString(tag), hex.EncodeToString(sealed))
	return err
}
