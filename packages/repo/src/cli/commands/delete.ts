import { deleteSnapshots } from '../../snapshot/delete-snapshots.ts'
import type { CommandRun } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { withRepository } from '../with-repository.ts'

/** `delete SNAPSHOT...`: all of them or none. */
export const deleteCommand: CommandRun = context =>
  withRepository(context, {}, async repository => {
    const { args, output, surroundings } = context
    const { signal } = surroundings
    const deleted = await repository.writing({ signal }, ({ manifests }) =>
      deleteSnapshots(manifests, args, signal),
    )
    await output.document(
      { deleted },
      deleted.map(id => `deleted ${id}`),
    )
    return exitCodes.ok.code
  })
