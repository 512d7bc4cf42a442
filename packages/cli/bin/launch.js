'use strict'

// Runs on any Node from 16 on, so that an old Node can start a new one: no syntax or API beyond that here
// unless it is guarded by the version check.

const childProcess = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const NEEDED_MAJOR = 24
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']

function majorOf(version) {
  return parseInt(version, 10)
}

/** The binary that the npm package `node` brought along, or undefined when it is absent or too old. */
function bundledNode() {
  try {
    const manifest = require.resolve('node/package.json', { paths: [__dirname] })
    if (majorOf(JSON.parse(fs.readFileSync(manifest, 'utf8')).version) < NEEDED_MAJOR) return undefined
    const binary = path.join(
      path.dirname(manifest),
      'bin',
      process.platform === 'win32' ? 'node.exe' : 'node',
    )
    fs.accessSync(binary, fs.constants.X_OK)
    return binary
  } catch (_absent) {
    return undefined
  }
}

/**
 * Compiled sources are kept under the user's own cache folder: Node's default lies in the shared temporary folder,
 * where another user could plant code.
 */
function keepCompiledSources() {
  const cache = process.env.XDG_CACHE_HOME || (os.homedir() && path.join(os.homedir(), '.cache'))
  if (!cache) return
  const folder = path.join(cache, 'lateen', 'compiled')
  require('node:module').enableCompileCache(folder)
  // Threads do not share the cache of the one that starts them, but look for it here.
  if (!process.env.NODE_COMPILE_CACHE) process.env.NODE_COMPILE_CACHE = folder
}

function runWith(node, file) {
  const child = childProcess.spawn(node, [file].concat(process.argv.slice(2)), { stdio: 'inherit' })
  // A terminal sends Ctrl-C to the child as well; without one, whoever signals us means the child.
  const forwarded = process.stdin.isTTY ? FORWARDED_SIGNALS : FORWARDED_SIGNALS.concat('SIGINT')
  forwarded.forEach(signal => {
    process.on(signal, () => {
      child.kill(signal)
    })
  })
  if (process.stdin.isTTY) process.on('SIGINT', () => {})
  child.on('error', error => {
    process.stderr.write(`lateen: ${node} could not be started: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** Runs `load` here when this Node is new enough, else `file` again under the Node of this checkout. */
exports.launch = function launch(file, load) {
  if (majorOf(process.versions.node) >= NEEDED_MAJOR) {
    keepCompiledSources()
    load()
    return
  }
  const node = bundledNode()
  if (node !== undefined) {
    runWith(node, file)
    return
  }
  const root = path.resolve(__dirname, '..', '..', '..')
  process.stderr.write(
    `${path.basename(file, '.js')} needs Node.js ${NEEDED_MAJOR} or newer, and this is ${process.version}: ` +
      `run "npm ci" in ${root}, which brings it along, or install it from https://nodejs.org/.\n`,
  )
  process.exitCode = 1
}
