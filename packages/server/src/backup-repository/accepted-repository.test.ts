import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation } from '@lateen/api'
import { acceptedRepository } from './accepted-repository.ts'

function location(config: Record<string, string>, provider = 'aws'): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default' },
    spec: { provider, objectStorage: { bucket: 'kept', prefix: 'a' }, config },
  }
}

const s3 = location({ region: 'eu-1' })

describe('the address of a restic repository', () => {
  it('is what Velero wrote, whatever the location says today', () => {
    for (const written of [
      's3:http://10.0.0.1:9000/kept/restic/shop',
      'azure:kept:/restic/shop',
      'gs:kept:/a/restic/shop',
    ])
      assert.equal(acceptedRepository(written, s3, 'shop'), written)
  })

  it("is the location's own where nothing is written", () => {
    assert.equal(acceptedRepository('', s3, 'shop'), 's3:s3-eu-1.amazonaws.com/kept/a/restic/shop')
  })

  it('is not made of what is no namespace', () => {
    const inFolder = location({ path: '/backups' }, 'filesystem')
    for (const name of ['../../../etc', '', 'a/b'])
      assert.throws(() => acceptedRepository('', inFolder, name), { code: 'INVALID_LOCATION' }, name)
  })

  it('is no folder and no program, although the location says so', () => {
    for (const resticRepoPrefix of ['/etc', 'local:/etc', 'sftp:a:/b', 'rclone:a:b', '-o', 'rest:a b'])
      assert.throws(() => acceptedRepository('', location({ resticRepoPrefix }), 'shop'), {
        code: 'INVALID_LOCATION',
        message: /resticRepoPrefix/,
      })
  })

  it('may be a folder or a server only where the location says so', () => {
    const onServer = location({ resticRepoPrefix: 'rest:http://server/' })
    assert.equal(acceptedRepository('rest:http://server/shop', onServer, 'shop'), 'rest:http://server/shop')
    const inFolder = location({ path: '/backups' }, 'filesystem')
    assert.equal(
      acceptedRepository('/backups/kept/a/restic/shop', inFolder, 'shop'),
      '/backups/kept/a/restic/shop',
    )
    for (const written of [
      '/host_pods/stolen',
      'local:/etc',
      'sftp:-oProxyCommand=touch:x',
      'rclone:x:y',
      'rest:http://server/other',
      '--password-command=touch /tmp/x',
      's3:a\nb',
      's3:',
    ])
      assert.throws(
        () => acceptedRepository(written, onServer, 'shop'),
        { code: 'INVALID_LOCATION' },
        written,
      )
  })
})
