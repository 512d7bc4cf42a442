import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  annotationNames,
  backupHookAnnotationNames,
  finalizerNames,
  groupSnapshotClassAnnotation,
  labelNames,
  restoreExecHookAnnotationNames,
  restoreInitHookAnnotationNames,
} from '@lateen/api'
import { veleroModuleDir, veleroVersion } from '../../tools/gen/velero-module.ts'

const velero = await veleroModuleDir()

const ourNames: ReadonlySet<string> = new Set([
  ...Object.values(labelNames),
  ...Object.values(annotationNames),
  ...Object.values(backupHookAnnotationNames),
  ...Object.values(backupHookAnnotationNames).map(name => `pre.${name}`),
  ...Object.values(backupHookAnnotationNames).map(name => `post.${name}`),
  ...Object.values(restoreExecHookAnnotationNames),
  ...Object.values(restoreInitHookAnnotationNames),
  ...Object.values(finalizerNames),
  groupSnapshotClassAnnotation(''),
])

/** The constants in a Go file whose value is a name with a domain. */
async function namesIn(path: string): Promise<string[]> {
  const source = velero.skip === false ? await readFile(join(velero.dir, path), 'utf8') : ''
  return [...source.matchAll(/= "((?:[a-z0-9-]+\.)+io\/[A-Za-z0-9_.-]+)"/g)].map(match => match[1] ?? '')
}

describe(`the labels, annotations and finalizers of Velero ${veleroVersion}`, { skip: velero.skip }, () => {
  for (const path of [
    'pkg/apis/velero/v1/labels_annotations.go',
    'pkg/exposer/types.go',
    'pkg/podvolume/configs/configs.go',
    'pkg/controller/gc_controller.go',
    'pkg/controller/data_upload_controller.go',
    'pkg/controller/pod_volume_backup_controller.go',
    'pkg/controller/restore_controller.go',
    'internal/hook/item_hook_handler.go',
  ]) {
    it(`in ${path} are all among ours`, async () => {
      const theirs = await namesIn(path)
      assert.ok(theirs.length > 0)
      assert.deepEqual(
        theirs.filter(name => !ourNames.has(name)),
        [],
      )
    })
  }
})
