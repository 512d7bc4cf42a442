import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupRepository } from '@lateen/api'
import { type Fence, silentLogger, systemClock } from '@lateen/kube'
import { type ManagedRepositoryPorts, managedRepository } from './managed-repository.ts'

const { signal } = new AbortController()

const repository: BackupRepository = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupRepository',
  metadata: { name: 'shop-default-restic' },
  spec: {
    ...{ volumeNamespace: 'shop', backupStorageLocation: 'default', repositoryType: 'restic' },
    maintenanceFrequency: '1h0m0s',
  },
}

const location = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupStorageLocation',
  metadata: { name: 'default' },
  spec: {
    ...{ provider: 'filesystem', objectStorage: { bucket: 'backups' } },
    config: { path: '/lateen-no-such-folder' },
  },
}

/** With a program for restic that does nothing, well. */
function managedBy(fence: Fence) {
  const ports: ManagedRepositoryPorts = {
    ...{ clock: systemClock, log: silentLogger, env: {}, fence },
    restic: { binary: 'true', env: {} },
    readSecretKey: async () => Buffer.from('secret'),
    credentialFiles: { write: async () => '/none' } as unknown as ManagedRepositoryPorts['credentialFiles'],
  }
  return managedRepository(repository, location, { ...ports, signal })
}

describe('A repository of restic', () => {
  it('is left alone by a server that leads no more', async () => {
    const asked: string[] = []
    const check = (change: string) => {
      asked.push(change)
      throw new Error('fenced')
    }
    const managed = await managedBy({ check })
    const works = [managed.prepare(signal), managed.maintain(signal), managed.forget(['238d9bad'], signal)]
    for (const work of works) await assert.rejects(work, /^Error: fenced$/)
    assert.deepEqual(
      asked.map(change => change.split(' ')[0]),
      ['prepare', 'unlock', 'unlock'],
    )
  })

  for (const [step, change] of [
    ['maintain', 'prune'],
    ['forget', 'forget'],
  ] as const) {
    it(`is not touched by ${change} when the lead is lost after its locks were removed`, async () => {
      const check = (asked: string) => {
        if (asked.startsWith(change)) throw new Error('fenced')
      }
      const managed = await managedBy({ check })
      const work = step === 'maintain' ? managed.maintain(signal) : managed.forget(['238d9bad'], signal)
      await assert.rejects(work, /fenced/)
    })
  }
})
