import type { BlobConfig } from '../../format/blob-config.ts'
import { createRepository } from '../../repository.ts'
import { serializeVeleroMarker, veleroMarkerId } from '../../unified/kopia/velero-marker.ts'
import { type CommandRun, type FlagValues, textFlag } from '../command.ts'
import { repositoryDocument, repositoryLines } from '../describe-repository.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../number-flag.ts'
import { usageError } from '../usage-error.ts'
import { repoLocation, repoPassword, withStorage } from '../with-repository.ts'

/** `create`: an empty repository, with this user as the owner of its maintenance. */
export const create: CommandRun = async context => {
  const { flags, output, surroundings } = context
  const { clock, signal, host, userName } = surroundings
  repoLocation(context)
  const password = await repoPassword(context, { isNew: true })
  const format = {
    hash: textFlag(flags, 'hash'),
    encryption: textFlag(flags, 'encryption'),
    splitter: textFlag(flags, 'splitter'),
  }
  const blobConfig = retentionFlags(flags)
  return withStorage(
    context,
    async storage => {
      const repository = await createRepository({
        storage,
        password,
        clock,
        signal,
        client: flags.velero ? undefined : { username: userName, hostname: host },
        format: onlyGiven(format),
        ...(blobConfig && { blobConfig }),
      })
      if (flags.velero) {
        await storage.put(veleroMarkerId, serializeVeleroMarker(repository.format.uniqueId), { signal })
      }
      await output.document(repositoryDocument(repository), ['created', ...repositoryLines(repository)])
      return exitCodes.ok.code
    },
    { create: true },
  )
}

function retentionFlags(flags: FlagValues): BlobConfig | undefined {
  const mode = textFlag(flags, 'retention-mode')
  const days = wholeNumber('retention-days', textFlag(flags, 'retention-days'))
  if (mode === undefined && days === undefined) return undefined
  if ((mode === 'GOVERNANCE' || mode === 'COMPLIANCE') && days !== undefined)
    return { retention: { mode, period: days * 86_400_000 } }
  throw usageError(
    'how are blobs to be protected?',
    'write --retention-mode GOVERNANCE or COMPLIANCE, and --retention-days N',
  )
}

function onlyGiven(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
