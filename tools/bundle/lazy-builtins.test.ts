import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { lazyModule } from './lazy-builtins.ts'

const require = createRequire(import.meta.url)

describe('lazyModule', () => {
  for (const name of ['crypto', 'fs/promises', 'tls', 'zlib', 'os']) {
    it(`exports what node:${name} does, and asks for it only then`, () => {
      const module: { exports: Record<string, unknown> } = { exports: {} }
      const asked: string[] = []
      new Function('module', 'require', lazyModule(name))(module, (id: string) => {
        asked.push(id)
        return require(id)
      })
      const real = require(`node:${name}`) as Record<string, unknown>
      assert.deepEqual(Object.keys(module.exports), Object.keys(real))
      assert.deepEqual(asked, [])
      for (const each of Object.keys(real)) assert.equal(module.exports[each], real[each], each)
    })
  }
})
