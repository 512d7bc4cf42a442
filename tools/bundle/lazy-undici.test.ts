import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { lazyExports } from './lazy-undici.ts'

const require = createRequire(import.meta.url)

describe('lazyExports', async () => {
  const undici = require('undici') as Record<string, unknown>
  const names = Object.keys(undici)
  const text = lazyExports(await readFile(require.resolve('undici'), 'utf8'), names)
  const module: { exports: Record<string, unknown> } = { exports: {} }
  new Function('module', 'require', text)(module, require)

  it('exports what undici does, the very same things', () => {
    assert.deepEqual(Object.keys(module.exports), names)
    for (const name of names) assert.equal(module.exports[name], undici[name], name)
  })

  it('finds connection pools and proxies in files of their own', () => {
    for (const name of ['Pool', 'ProxyAgent', 'Socks5ProxyAgent']) {
      assert.match(text, new RegExp(`get "${name}"\\(\\) \\{ complete\\(\\); return require\\('undici/lib/`))
    }
  })
})
