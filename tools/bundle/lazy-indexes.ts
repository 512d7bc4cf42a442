import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Plugin } from 'esbuild'

const packages = path.join(import.meta.dirname, '..', '..', 'packages')

/** Packages of ours of which a command uses a few files. */
const lazyPackages = /^@lateen\/(api|kube)$/

/**
 * Loads of a package what is used, when it is used: each name in its index becomes a getter that loads the file which has it. Throws when the
 * index exports something that it does not name in the form `export { name } from './file.ts'`.
 */
export const lazyIndexes: Plugin = {
  name: 'lazy-indexes',
  setup(build) {
    const namespace = 'lazy-indexes'
    build.onResolve({ filter: lazyPackages }, ({ path: specifier }) => ({ path: specifier, namespace }))
    build.onLoad({ filter: /.*/, namespace }, async ({ path: specifier }) => {
      const resolveDir = path.join(packages, lazyPackages.exec(specifier)?.[1] ?? '', 'src')
      const files = filesOfIndex(await readFile(path.join(resolveDir, 'index.ts'), 'utf8'))
      const missing = Object.keys((await import(specifier)) as object).filter(name => !files.has(name))
      if (missing.length > 0) throw new Error(`${specifier} exports ${missing.join(', ')} from no file`)
      return { contents: lazyIndex(files), resolveDir, loader: 'js' }
    })
  },
}

/** Where each value that an index exports comes from, and its name there. */
export function filesOfIndex(index: string): Map<string, { file: string; name: string }> {
  const found = new Map<string, { file: string; name: string }>()
  for (const [, names = '', file = ''] of index.matchAll(/^export \{([^}]*)\} from '(\.[^']+)'$/gm)) {
    for (const each of names.split(',').map(text => text.trim())) {
      if (each === '' || each.startsWith('type ')) continue
      const [name = '', exported = name] = each.split(' as ')
      found.set(exported, { file, name })
    }
  }
  return found
}

function lazyIndex(files: ReadonlyMap<string, { file: string; name: string }>): string {
  const getters = [...files].map(
    ([exported, { file, name }]) => `get ${exported}() { return require('${file}').${name} },`,
  )
  return ['module.exports = {', ...getters, '}'].join('\n')
}
