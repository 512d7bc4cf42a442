import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planLayer } from './image-file.ts'

describe('planLayer', () => {
  it('sorts the files and adds the folders above them', async () => {
    const layer = await planLayer([
      { path: '/usr/bin/a', linkTo: 'b' },
      { path: '/tmp', directory: true, mode: 0o1777 },
      { path: '/etc/passwd', content: 'root' },
    ])
    assert.deepEqual(
      layer.map(({ entry }) => [entry.type, entry.path, entry.mode.toString(8)]),
      [
        ['directory', 'etc', '755'],
        ['file', 'etc/passwd', '644'],
        ['directory', 'tmp', '1777'],
        ['directory', 'usr', '755'],
        ['directory', 'usr/bin', '755'],
        ['symlink', 'usr/bin/a', '777'],
      ],
    )
  })

  it('takes size and executable bit of a file from the machine', async () => {
    const [node] = (await planLayer([{ path: '/node', from: process.execPath }])).slice(-1)
    assert.equal(node?.entry.mode, 0o755)
    assert.ok((node?.entry.size ?? 0) > 1_000_000)
  })

  it('refuses a path that is named twice, relative or leads upwards', async () => {
    const twice = planLayer([
      { path: '/a', content: '1' },
      { path: '/a', content: '2' },
    ])
    await assert.rejects(twice, { code: 'IMAGE_FILE_LIST', message: /\/a twice/ })
    for (const path of ['a', '/a/../../b', '/', '/a/']) {
      await assert.rejects(planLayer([{ path, content: '' }]), { code: 'IMAGE_FILE_LIST' }, path)
    }
  })
})
