process.stderr.write(
  'lateen-repo: the repository engine is not part of this version yet; until it is, use `kopia` on repositories that Velero made.\n',
)
process.exitCode = 2
