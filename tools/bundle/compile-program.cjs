'use strict'

/**
 * `node compile-program.cjs PROGRAM CODE KUBECONFIG COMMAND-LINE...`: runs each command line, given as JSON, and keeps what V8 has compiled of
 * the program then. A command that fails costs nothing but speed later.
 */
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')

const [program, code, kubeconfig, ...commandLines] = process.argv.slice(2)
const script = new vm.Script(fs.readFileSync(program, 'latin1'), {
  filename: program,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const start = script.runInThisContext()
process.env.KUBECONFIG = kubeconfig

function next() {
  const commandLine = commandLines.shift()
  if (commandLine === undefined) {
    fs.writeFileSync(code, script.createCachedData())
    process.exit(0)
  }
  process.argv = [process.argv[0], 'lateen', ...JSON.parse(commandLine)]
  const module = { exports: {} }
  start(module.exports, require, module, program, path.dirname(program))
  // Without anything that waits, the process would end and ask no more.
  setImmediate(() => {})
}

process.on('beforeExit', next)
next()
