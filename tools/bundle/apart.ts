import type { Plugin } from 'esbuild'

/** What the program leaves out, because few commands need it and it is larger than the rest, and where that is instead. */
const files: ReadonlyMap<string, string> = new Map([
  ['@lateen/server', './server.cjs'],
  ['@kubernetes/client-node', './client-node.mjs'],
])

/** Names in which the program hands out packages of which there must be one: classes are told by identity. */
const shared: ReadonlyMap<string, string> = new Map([
  ['@lateen/api', 'api'],
  ['@lateen/kube', 'kube'],
])

/** For the program: `import()` of what lies apart loads the file. */
export const leftOut: Plugin = {
  name: 'left-out',
  setup(build) {
    build.onResolve({ filter: /^@/ }, ({ path: specifier, kind }) => {
      const file = kind === 'dynamic-import' ? files.get(specifier) : undefined
      return file === undefined ? undefined : { path: file, external: true }
    })
  },
}

/** For what lies apart: shared packages are the program's. */
export const fromProgram: Plugin = {
  name: 'from-program',
  setup(build) {
    const namespace = 'from-program'
    build.onResolve({ filter: /^@lateen\// }, ({ path: specifier }) =>
      shared.has(specifier) ? { path: specifier, namespace } : undefined,
    )
    build.onResolve({ filter: /^\.\/lateen\.cjs$/ }, ({ path: file }) => ({ path: file, external: true }))
    build.onLoad({ filter: /.*/, namespace }, ({ path: specifier }) => ({
      contents: `module.exports = require('./lateen.cjs').${shared.get(specifier)}`,
    }))
  },
}

/** The program as the launcher starts it: `entry` runs, and shared packages are handed out once somebody asks. */
export function programSource(entry: string): string {
  const getters = [...shared].map(
    ([specifier, name]) =>
      `Object.defineProperty(exports, '${name}', { get: () => require('${specifier}'), enumerable: true })`,
  )
  return [...getters, `require('${entry}')`].join('\n')
}
