import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { archiveOf, handsOn, restoreArchive, type Stored, stored } from '../cluster/restore-harness.ts'

const given = await givenCluster({})

/**
 * CVE-2020-3996: a volume was restored without the claim that it belongs to, and Kubernetes bound it to whichever claim came first, also
 * one of another tenant, who then read the data.
 */
describe('the volume of one tenant', { skip: given.skip, concurrency: false }, () => {
  const [ours, theirs, mapped] = ['ours', 'theirs', 'mapped'].map(
    name => `tenant-${name}-${process.pid}`,
  ) as [string, string, string]
  const hands = () => handsOn(given.cluster)
  let client: KubeClient
  let count = 0

  before(async () => {
    client = await createKubeClient({
      config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }),
    })
    for (const name of [ours, theirs, mapped]) await given.cluster.kubectl(['create', 'namespace', name])
  })
  after(async () => {
    const selector = ['-l', `tenants=${process.pid}`]
    await given.cluster.kubectl(['delete', 'namespace', ours, theirs, mapped, '--wait=false'])
    await given.cluster.kubectl(['delete', 'pv', ...selector, '--wait=false'])
    await client?.[Symbol.asyncDispose]()
  })

  /** A class of its own for each test, so that only the claims of the test compete for its volume. */
  function parts() {
    const name = `tenants-${process.pid}-${count++}`
    const claim = (namespace: string, volumeName?: string): Stored => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace } },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], storageClassName: name },
        resources: { requests: { storage: '1Gi' } },
        ...(volumeName !== undefined && { volumeName }),
      },
    })
    const volume = (claimRef?: object): Stored => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolume' },
      metadata: {
        ...{ name, labels: { tenants: String(process.pid) } },
        annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' },
      },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, storageClassName: name },
        ...{ hostPath: { path: '/tmp/nothing' }, persistentVolumeReclaimPolicy: 'Retain' },
        ...(claimRef && { claimRef }),
      },
      status: { phase: 'Bound' },
    })
    const claimRef = (namespace: string) => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: 'data' },
      ...{ uid: 'of-the-old-cluster', resourceVersion: '7' },
    })
    return { name, claim, volume, claimRef }
  }

  const remove = (namespace: string) =>
    given.cluster.kubectl(['delete', 'pvc', 'data', '-n', namespace, '--ignore-not-found'])

  async function phaseOf(namespace: string): Promise<{ phase?: string; volumeName?: string }> {
    const { spec, status } = (await hands().get('pvc', 'data', namespace)) as Stored & {
      spec: { volumeName?: string }
      status?: { phase?: string }
    }
    return {
      ...(status?.phase !== undefined && { phase: status.phase }),
      ...(spec.volumeName !== undefined && { volumeName: spec.volumeName }),
    }
  }

  const bound = (namespace: string) =>
    waitUntil(async () => ((await phaseOf(namespace)).phase === 'Bound' ? true : undefined), {
      timeoutMs: 60_000,
      failure: () => new Error(`the claim of ${namespace} is not bound`),
    })

  it('is bound to whoever waits for it when it comes without its claim, which is what must not happen', async () => {
    const { name, claim, volume } = parts()
    await hands().create(volume(), claim(theirs))
    await bound(theirs)
    assert.equal((await phaseOf(theirs)).volumeName, name)
    await remove(theirs)
  })

  it('is bound to the claim that it had, although another tenant waits for one like it', async () => {
    const { name, claim, volume, claimRef } = parts()
    await hands().create(claim(theirs))
    const archive = archiveOf(stored(volume(claimRef(ours))), stored(claim(ours, name)))
    await restoreArchive({ client, archive })
    await bound(ours)
    assert.equal((await phaseOf(ours)).volumeName, name)
    assert.deepEqual(await phaseOf(theirs), { phase: 'Pending' })
    for (const tenant of [ours, theirs]) await remove(tenant)
  })

  it('waits for its claim when that is not restored with it', async () => {
    const { name, claim, volume, claimRef } = parts()
    await hands().create(claim(theirs))
    await restoreArchive({ client, archive: archiveOf(stored(volume(claimRef(ours)))) })
    const { spec } = (await hands().get('pv', name)) as Stored & { spec: { claimRef?: object } }
    const { uid: _uid, resourceVersion: _version, ...kept } = claimRef(ours)
    assert.deepEqual(spec.claimRef, kept)
    await hands().create(claim(ours, name))
    await bound(ours)
    assert.deepEqual(await phaseOf(theirs), { phase: 'Pending' })
    for (const tenant of [ours, theirs]) await remove(tenant)
  })

  it('is bound in the namespace that its own is mapped to, and in no other', async () => {
    const { name, claim, volume, claimRef } = parts()
    await hands().create(claim(theirs), claim(ours))
    const archive = archiveOf(stored(volume(claimRef(ours))), stored(claim(ours, name)))
    await restoreArchive({ client, archive, spec: { namespaceMapping: { [ours]: mapped } } })
    await bound(mapped)
    assert.equal((await phaseOf(mapped)).volumeName, name)
    for (const tenant of [ours, theirs]) assert.deepEqual(await phaseOf(tenant), { phase: 'Pending' })
  })
})
