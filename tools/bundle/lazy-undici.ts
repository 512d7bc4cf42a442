import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Plugin } from 'esbuild'

const namespace = 'lazy-undici'
const require = createRequire(import.meta.url)

/**
 * Loads of undici what is used, when it is used. Its index loads everything it has, which takes longer than a whole short command. Each
 * of its exports becomes a getter that loads the file which the index takes it from, or the index itself where it is more than a file.
 */
export const lazyUndici: Plugin = {
  name: namespace,
  setup(build) {
    const own = path.join('packages', 'kube')
    build.onResolve({ filter: /^undici$/ }, ({ importer, resolveDir }) =>
      importer.includes(own) ? { path: 'undici', namespace, pluginData: { resolveDir } } : undefined,
    )
    build.onLoad({ filter: /.*/, namespace }, async ({ pluginData }) => {
      const index = await readFile(require.resolve('undici'), 'utf8')
      const names = Object.keys(require('undici') as object)
      const { resolveDir } = pluginData as { resolveDir: string }
      return { contents: lazyExports(index, names), resolveDir, loader: 'js' }
    })
  },
}

/** The module in between: `names` are what undici exports, `index` is the text of its index. */
export function lazyExports(index: string, names: readonly string[]): string {
  const files = new Map(
    [...index.matchAll(/^const (\w+) = require\('\.\/(lib\/[\w/-]+)'\)$/gm)].map(
      ([, name = '', file = '']) => [name, `undici/${file}`],
    ),
  )
  const direct = new Set([...index.matchAll(/^module\.exports\.(\w+) = \1$/gm)].map(match => match[1]))
  const getters = names.map(name => {
    const file = files.get(name)
    const found =
      file !== undefined && direct.has(name) ? `require('${file}')` : `require('undici/index.js').${name}`
    return `get ${JSON.stringify(name)}() { complete(); return ${found} },`
  })
  // The index gives every dispatcher its methods: request, stream, upgrade and others.
  const methods = [
    'let complete = () => {',
    "  Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, require('undici/lib/api'))",
    '  complete = () => {}',
    '}',
  ]
  return [...methods, 'module.exports = {', ...getters, '}'].join('\n')
}
