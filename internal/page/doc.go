// Package page writes the pages that are generated from code, and tells whether
// the ones in the tree are what would be written now. A generator says what its
// page is called and how it is made; finding the tree, writing, comparing and the
// flag -check are the same for all and are here.
//
// It promises that a page is written whole or left as it is, and that a page with
// any other byte than would be written is told. It does not judge what a page says.
package page
