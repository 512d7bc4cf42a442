import path from 'node:path'
import type { Plugin } from 'esbuild'

const namespace = 'lazy-package'

/**
 * Gives `await import('package')` the names that Node gives it. esbuild puts a CommonJS package which is loaded lazily into a chunk with
 * a default export alone; Node finds its names as well. Each such package gets
 * a module in between that exports by name what Node sees in it.
 */
export const lazyPackages: Plugin = {
  name: namespace,
  setup(build) {
    build.onResolve({ filter: /^[^.]/ }, ({ path: specifier, kind, resolveDir, namespace: from }) => {
      const isPackage = !path.isAbsolute(specifier) && !specifier.startsWith('node:')
      if (kind !== 'dynamic-import' || !isPackage || from === namespace) return undefined
      if (specifier.startsWith('@lateen/')) return undefined
      return { path: specifier, namespace, pluginData: { resolveDir } }
    })
    build.onLoad({ filter: /.*/, namespace }, async ({ path: specifier, pluginData }) => {
      const names = Object.keys((await import(specifier)) as object).filter(name => /^[\w$]+$/.test(name))
      const { resolveDir } = pluginData as { resolveDir: string }
      return { contents: exportByName(specifier, names), resolveDir }
    })
  },
}

function exportByName(specifier: string, names: string[]): string {
  const lines = names.map(name =>
    name === 'default' ? 'export default all.default' : `export const ${name} = all.${name}`,
  )
  return [`import * as all from ${JSON.stringify(specifier)}`, ...lines].join('\n')
}
