// Checks a cosigned checkpoint and its growth with golang.org/x/mod: note.Open and tlog.CheckTree.
//
// Standard input is one JSON object. The only code of our own is the message of cosignature/v1, which x/mod does
// not know: it is plugged in as a note.Verifier.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type input struct {
	Log       string   `json:"log"`
	Cosigners []string `json:"cosigners"`
	Old       string   `json:"old"`
	New       string   `json:"new"`
	Growth    [][]byte `json:"growth"`
}

type output struct {
	Size    int64            `json:"size"`
	Signers []string         `json:"signers"`
	Times   map[string]int64 `json:"times"`
}

type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }

func (c cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	text := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(c.key, []byte(text), sig[8:])
}

func parse(vkey string) cosigner {
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	hash := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if key[0] != 4 || fmt.Sprintf("%x", hash[:4]) != parts[1] {
		check(fmt.Errorf("not the key of a cosigner: %s", vkey))
	}
	return cosigner{parts[0], binary.BigEndian.Uint32(hash[:4]), key[1:]}
}

func open(text string, verifiers note.Verifiers) (*note.Note, int64, tlog.Hash) {
	opened, err := note.Open([]byte(text), verifiers)
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return opened, size, root
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	log, err := note.NewVerifier(in.Log)
	check(err)
	known := []note.Verifier{log}
	for _, vkey := range in.Cosigners {
		known = append(known, parse(vkey))
	}
	verifiers := note.VerifierList(known...)
	_, oldSize, oldRoot := open(in.Old, verifiers)
	opened, size, root := open(in.New, verifiers)
	var growth tlog.TreeProof
	for _, each := range in.Growth {
		var hash tlog.Hash
		copy(hash[:], each)
		growth = append(growth, hash)
	}
	check(tlog.CheckTree(growth, size, root, oldSize, oldRoot))
	out := output{Size: size, Times: map[string]int64{}}
	for _, sig := range opened.Sigs {
		out.Signers = append(out.Signers, sig.Name)
		data, err := base64.StdEncoding.DecodeString(sig.Base64)
		check(err)
		if len(data) == 76 {
			out.Times[sig.Name] = int64(binary.BigEndian.Uint64(data[4:]))
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(out))
}
