import path from 'node:path'
import type { Plugin } from 'esbuild'

/** Modules that a package loads at once for what we never ask it to do, and what it gets instead. */
const unused: readonly { module: string; of: string; instead: string }[] = [
  // HTTP/2 is off.
  {
    module: './client-h2.js',
    of: 'undici',
    instead: "() => { throw new Error('HTTP/2 is not part of this program') }",
  },
  // To tell messages of Node's own client, and for how long headers may be: 16 KiB, unless an option of Node says otherwise.
  { module: 'node:http', of: 'undici', instead: '{ IncomingMessage: class {}, maxHeaderSize: 16384 }' },
]

/** Spares the program the time that these take to load. */
export const unusedModules: Plugin = {
  name: 'unused-modules',
  setup(build) {
    const namespace = 'unused-modules'
    build.onResolve({ filter: /./ }, ({ path: module, importer }) => {
      const found = unused.find(each => each.module === module && each.of === packageOf(importer))
      return found === undefined
        ? undefined
        : { path: `${found.of}/${module}`, namespace, pluginData: found.instead }
    })
    build.onLoad({ filter: /.*/, namespace }, ({ pluginData }) => ({
      contents: `module.exports = ${pluginData as string}`,
    }))
  },
}

/** The npm package that a file belongs to. */
function packageOf(file: string): string | undefined {
  const parts = file.split(path.sep)
  const at = parts.lastIndexOf('node_modules')
  if (at < 0) return undefined
  const name = parts[at + 1]
  return name?.startsWith('@') ? `${name}/${parts[at + 2]}` : name
}
