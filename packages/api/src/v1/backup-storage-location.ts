import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { backupStorageLocationPhaseMachine, locationPhases } from '../phases.ts'
import {
  boolean,
  bytes,
  duration,
  enumeration,
  map,
  nullable,
  object,
  required,
  string,
  time,
} from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'
import { secretKeySelector } from '../secret-key-selector.ts'

const accessMode = enumeration('Whether backups may be written and deleted; ReadWrite if empty.', [
  'ReadOnly',
  'ReadWrite',
])

/** Whether backups may be written to a location and deleted from it. */
export type AccessMode = Infer<typeof accessMode>

const backupStorageLocationSpec = object('Where backups are kept.', {
  provider: required(string('The object store plugin; a bare word means velero.io/ and that word.')),
  objectStorage: required(
    object('The place in the object store.', {
      bucket: required(string('The bucket.')),
      prefix: string('The folder inside the bucket.'),
      caCert: bytes('Certificates to trust, PEM. Replaced by caCertRef.'),
      caCertRef: secretKeySelector('The secret with certificates to trust. Not together with caCert.'),
    }),
  ),
  config: map('Settings for the object store plugin.'),
  credential: secretKeySelector('The secret with the credentials.'),
  default: boolean('Whether backups that name no location go here.'),
  accessMode,
  backupSyncPeriod: nullable(duration('How often to look for backups of other clusters; 0 turns it off.')),
  validationFrequency: nullable(duration('How often to check that the store works; 0 turns it off.')),
})

/** Where backups are kept. */
export interface BackupStorageLocationSpec extends Infer<typeof backupStorageLocationSpec> {}

const backupStorageLocationStatus = object('Whether the location works.', {
  phase: enumeration('Whether the location can be used.', locationPhases),
  message: string('Why the location cannot be used.'),
  lastSyncedTime: time('When backups of other clusters were last looked for.'),
  lastValidationTime: time('When the store was last checked.'),
  lastSyncedRevision: string('No longer used.'),
  accessMode,
})

/** Whether a location works. */
export interface BackupStorageLocationStatus extends Infer<typeof backupStorageLocationStatus> {}

/** A place in an object store where backups are kept. */
export interface BackupStorageLocation
  extends CustomObject<BackupStorageLocationSpec, BackupStorageLocationStatus> {}

/** The kind BackupStorageLocation. */
export const BackupStorageLocationKind: KindDescription<BackupStorageLocation> = describeKind({
  kind: 'BackupStorageLocation',
  plural: 'backupstoragelocations',
  shortNames: ['bsl'],
  description: 'A place in an object store where backups are kept.',
  schema: { spec: backupStorageLocationSpec, status: backupStorageLocationStatus },
  phases: backupStorageLocationPhaseMachine,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Whether it can be used' },
    {
      name: 'Last Validated',
      type: 'date',
      jsonPath: '.status.lastValidationTime',
      description: 'When the store was last checked',
    },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    {
      name: 'Default',
      type: 'boolean',
      jsonPath: '.spec.default',
      description: 'Whether it is the default location',
    },
  ],
})
