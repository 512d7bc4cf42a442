import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkPrerequisites } from './prerequisites.ts'

describe('checkPrerequisites', () => {
  it('says that a node needs root, and names the way out', async () => {
    await assert.rejects(checkPrerequisites({ node: true, s3: false }, { platform: 'linux', userId: 1000 }), {
      code: 'CLUSTER_UNAVAILABLE',
      message: /a node needs root.*LATEEN_TEST_KUBECONFIG/,
    })
  })

  it('says that a cluster needs Linux, and names the way out', async () => {
    await assert.rejects(checkPrerequisites({ node: false, s3: false }, { platform: 'darwin', userId: 0 }), {
      code: 'CLUSTER_UNAVAILABLE',
      message: /needs Linux, and this is darwin.*LATEEN_TEST_KUBECONFIG/,
    })
  })

  it('refuses a CSI driver without a node to run on', async () => {
    await assert.rejects(
      checkPrerequisites({ node: false, s3: false, csi: true }, { platform: 'linux', userId: 0 }),
      { code: 'CLUSTER_FAILED', message: /runs on a node.*--node --csi/ },
    )
  })
})
