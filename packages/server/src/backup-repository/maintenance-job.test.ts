import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { maintenanceJob } from './maintenance-job.ts'

const server = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'velero', namespace: 'velero' },
  spec: { template: { spec: { containers: [{ image: 'lateen:v1' }] } } },
}

const jobOf = (name: string) =>
  maintenanceJob({
    repository: {
      apiVersion: 'velero.io/v1',
      kind: 'BackupRepository',
      metadata: { name, namespace: 'velero' },
      spec: {
        ...{ volumeNamespace: 'shop', backupStorageLocation: 'default', repositoryType: 'kopia' },
        maintenanceFrequency: '1h0m0s',
      },
    },
    server,
    ...{ config: {}, now: 1_767_312_000_000, logLevel: 'info', logFormat: 'text' },
  })

const nameOf = (repository: string) => jobOf(repository).metadata.name ?? ''

describe('The Job that maintains a repository', () => {
  it('is called as Velero calls it where that fits', () => {
    assert.equal(nameOf('shop-default-kopia'), 'shop-default-kopia-maintain-job-1767312000000')
  })

  it('of one with a long name does not keep that of another from beginning at the same moment', () => {
    const [one, other] = ['a', 'b'].map(end => nameOf(`${'long-name-'.repeat(5)}${end}-default-kopia`))
    assert.notEqual(one, other)
    for (const name of [one, other]) assert.match(name ?? '', /^[a-z][a-z0-9-]{0,62}$/)
  })

  it('ends some day, also where it never gets an image or a node, but not while it may still be at work', () => {
    const { activeDeadlineSeconds } = jobOf('shop-default-kopia').spec as { activeDeadlineSeconds?: number }
    assert.equal(activeDeadlineSeconds, 7 * 86_400)
  })
})
