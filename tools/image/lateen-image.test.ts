import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { lateenImage } from './lateen-image.ts'

const isLinux = process.platform === 'linux'

describe('the image of Lateen', { skip: isLinux ? false : 'images are made from Linux programs' }, () => {
  it('holds Node, each library it needs, the bundle, and the program under both names', async () => {
    const bundle = {
      version: '1.2.3',
      entry: 'lateen.mjs',
      repoEntry: 'lateen-repo.mjs',
      files: [{ path: 'lateen.mjs', from: import.meta.filename }],
    }
    const { files, config } = await lateenImage({ bundle })
    const paths = files.map(file => file.path)
    for (const expected of ['/usr/local/bin/node', '/opt/lateen/lateen.mjs', '/lateen', '/velero', '/tmp']) {
      assert.ok(paths.includes(expected), expected)
    }
    assert.ok(
      paths.some(name => /libc\.so|ld-musl/.test(name)),
      paths.join(' '),
    )
    assert.deepEqual(config.entrypoint, ['/lateen'])
    assert.equal(config.labels?.['org.opencontainers.image.version'], '1.2.3')
  })
})
