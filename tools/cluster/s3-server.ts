import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { tool } from '../binaries/tool.ts'
import { type ClusterPlan, filesOf, reachableAddress } from './cluster-layout.ts'
import type { ComponentPlan } from './component.ts'

/** How to reach a cluster's S3 server. */
export interface S3Access {
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  bucket: string
}

export function s3AccessOf(plan: ClusterPlan): S3Access {
  return {
    endpoint: `http://${reachableAddress(plan)}:${plan.ports.s3}`,
    region: 'us-east-1',
    accessKeyId: 'lateen-test',
    secretAccessKey: 'lateen-test-secret',
    bucket: 'lateen',
  }
}

/** versitygw over a folder of the cluster; a folder in it is a bucket. */
export async function s3Server(plan: ClusterPlan): Promise<ComponentPlan> {
  const access = s3AccessOf(plan)
  const root = filesOf(plan).data('s3')
  await mkdir(path.join(root, 'objects', access.bucket), { recursive: true })
  await mkdir(path.join(root, 'metadata'), { recursive: true })
  return {
    name: 'versitygw',
    command: await tool('versitygw'),
    args: [
      '--access',
      access.accessKeyId,
      '--secret',
      access.secretAccessKey,
      '--region',
      access.region,
      '--port',
      `${reachableAddress(plan)}:${plan.ports.s3}`,
      'posix',
      // Metadata beside the objects: not every file system keeps extended attributes.
      '--sidecar',
      path.join(root, 'metadata'),
      path.join(root, 'objects'),
    ],
  }
}
