'use strict'

/**
 * `node compile-server.cjs FOLDER COMMAND-LINE`: runs a command line, given as JSON, of the bundle in a folder, and keeps what V8 has compiled of
 * the server's part by its end. A command that fails costs nothing but speed later.
 */
const fs = require('node:fs')
const vm = require('node:vm')

const [folder, commandLine] = process.argv.slice(2)
const program = `${folder}/server-program.cjs`
const { Script } = vm
let server

vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options)
    if (options?.filename === program) server = this
  }
}

process.on('exit', () => {
  if (server !== undefined) fs.writeFileSync(`${folder}/server-program.code`, server.createCachedData())
  process.exitCode = 0
})
process.argv = [process.argv[0], `${folder}/lateen.cjs`, ...JSON.parse(commandLine)]
require(`${folder}/lateen.cjs`)
