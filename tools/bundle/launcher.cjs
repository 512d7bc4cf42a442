#!/usr/bin/env node
'use strict'

// Beside this file, which is there as `lateen.cjs` and as `server.cjs`, lie the program, or the server's part of it, and what V8 has compiled
// of that. Without the latter, or when this Node does not take it, the program is compiled as it is needed: slower, and the same.
const fs = require('node:fs')
const vm = require('node:vm')

const name = __filename === `${__dirname}/server.cjs` ? 'server-program' : 'program'
const filename = `${__dirname}/${name}.cjs`

function compiled() {
  try {
    return { cachedData: fs.readFileSync(`${__dirname}/${name}.code`) }
  } catch {
    return {}
  }
}

// The bundler writes ASCII alone.
const script = new vm.Script(fs.readFileSync(filename, 'latin1'), {
  filename,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  ...compiled(),
})

script.runInThisContext()(exports, require, module, filename, __dirname)
