// The cron parser that Velero uses, asked for times.
module lateen.dev/tools/cron-times

go 1.26.0

require github.com/netresearch/go-cron v0.15.0
