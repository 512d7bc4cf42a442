import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { KubeClient } from '@lateen/kube'
import type { Pod, PodVolume } from './mover-state.ts'
import { volumePath } from './volume-path.ts'

const uid = '0b8f5a44-1111-2222-3333-444455556666'
const { signal } = new AbortController()

/** The kubelet's folder of pods, with these mounts for the pod: they stand for ones that never answer. */
async function podsFolderWith(t: TestContext, ...mounts: string[]): Promise<string> {
  const { path: folder, remove } = await mkdtempDisposable(path.join(tmpdir(), 'lateen-volume-path-'))
  t.after(remove)
  for (const mount of mounts) {
    const at = path.join(folder, uid, 'volumes', mount)
    await mkdir(path.dirname(at), { recursive: true })
    // Whoever looks into it gets an error.
    await symlink('nowhere', at)
  }
  return folder
}

// Volumes without a claim need no API server.
function pathOf(volume: PodVolume, podsFolder: string, client = {} as KubeClient): Promise<string> {
  const metadata = { name: 'web', namespace: 'shop', uid }
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { volumes: [volume] } }
  return volumePath(pod, volume.name, { client, podsFolder, signal })
}

/** With one claim, which is bound to `pv`. */
function clusterWith(pv: { csi?: object; awsElasticBlockStore?: object; volumeMode?: string }): KubeClient {
  const get = async (name: string) => ({ spec: name === 'pv' ? pv : { volumeName: 'pv' } })
  return { resource: () => ({ get }) } as unknown as KubeClient
}

const claimed: PodVolume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } }

describe('The folder of a volume', () => {
  it('is found without a look into a mount, which may hang', async t => {
    const folder = await podsFolderWith(t, 'kubernetes.io~nfs/share', 'kubernetes.io~empty-dir/cache')
    assert.equal(await pathOf({ name: 'share' }, folder), `${uid}/volumes/kubernetes.io~nfs/share`)
  })

  it('is the mount in the folder of a volume of a CSI driver, whatever else has its name', async t => {
    const mounts = ['kubernetes.io~csi/disk/mount', 'kubernetes.io~nfs/disk']
    const folder = await podsFolderWith(t, ...mounts)
    assert.equal(await pathOf({ name: 'disk', csi: {} }, folder), `${uid}/volumes/${mounts[0]}`)
  })

  it('is the mount where a CSI driver stands in for one that was part of Kubernetes', async t => {
    const client = clusterWith({ awsElasticBlockStore: { volumeID: 'vol-1' } })
    const migrated = await podsFolderWith(t, 'kubernetes.io~csi/pv/mount')
    assert.equal(await pathOf(claimed, migrated, client), `${uid}/volumes/kubernetes.io~csi/pv/mount`)
    const inTree = await podsFolderWith(t, 'kubernetes.io~aws-ebs/pv')
    assert.equal(await pathOf(claimed, inTree, client), `${uid}/volumes/kubernetes.io~aws-ebs/pv`)
    const unmounted = await podsFolderWith(t, 'kubernetes.io~csi/pv/vol_data.json')
    await assert.rejects(pathOf(claimed, unmounted, client), /no folder on this node/)
  })

  it('is not there for a block volume, whoever provides it', async t => {
    const folder = await podsFolderWith(t, 'kubernetes.io~csi/pv/mount')
    for (const source of [{ csi: {} }, { awsElasticBlockStore: {} }]) {
      const client = clusterWith({ ...source, volumeMode: 'Block' })
      await assert.rejects(pathOf(claimed, folder, client), { code: 'VOLUME_UNSUPPORTED' })
    }
  })

  it('is not told where there is none, or more than one', async t => {
    const folder = await podsFolderWith(t, 'kubernetes.io~nfs/share', 'kubernetes.io~empty-dir/share')
    await assert.rejects(pathOf({ name: 'share' }, folder), /several folders/)
    await assert.rejects(pathOf({ name: 'other' }, folder), /no folder on this node/)
    await assert.rejects(pathOf({ name: 'share', csi: {} }, folder), /no folder on this node/)
    await assert.rejects(pathOf({ name: 'share' }, path.join(folder, 'absent')), { code: 'VOLUME_NOT_FOUND' })
  })
})
