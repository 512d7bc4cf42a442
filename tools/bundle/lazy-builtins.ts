import { builtinModules, createRequire } from 'node:module'
import type { Plugin } from 'esbuild'

const require = createRequire(import.meta.url)

/** Modules of Node that a program has loaded before its first line anyway, or that are more than the sum of their exports. */
function isLazy(name: string): boolean {
  return (
    builtinModules.includes(name) && !loadedAnyway.has(name) && typeof require(`node:${name}`) === 'object'
  )
}

const loadedAnyway = new Set(['buffer', 'fs', 'path', 'process', 'timers', 'url', 'util', 'vm'])

/**
 * Loads a module of Node when something of it is used, and not when a file that might use it is loaded: getters stand for its exports. A file
 * that takes its exports apart at once, as CommonJS packages do, loads it at once as before.
 */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup(build) {
    const namespace = 'lazy-builtins'
    build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path: specifier, namespace: from, kind }) => {
      const name = specifier.replace(/^node:/, '')
      if (from === namespace || kind === 'dynamic-import' || !isLazy(name)) return undefined
      return { path: name, namespace }
    })
    build.onLoad({ filter: /.*/, namespace }, ({ path: name }) => ({ contents: lazyModule(name) }))
  },
}

/** A module that exports what Node's module does, as getters. */
export function lazyModule(name: string): string {
  const names = Object.keys(require(`node:${name}`) as object)
  const getters = names.map(
    each => `get ${JSON.stringify(each)}() { return require('node:${name}')[${JSON.stringify(each)}] },`,
  )
  return ['module.exports = {', ...getters, '}'].join('\n')
}
