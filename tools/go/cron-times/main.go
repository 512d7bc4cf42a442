// Answers, for each line {"spec", "after", "count"} on standard input, a line with the next times of a schedule, or with the error.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"time"
	_ "time/tzdata"

	cron "github.com/netresearch/go-cron"
)

type question struct {
	Spec  string `json:"spec"`
	After int64  `json:"after"`
	Count int    `json:"count"`
}

type answer struct {
	Error string  `json:"error,omitempty"`
	Times []int64 `json:"times"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(times(asked)); err != nil {
			panic(err)
		}
	}
}

func times(asked question) answer {
	schedule, err := cron.ParseStandard(asked.Spec)
	if err != nil {
		return answer{Error: err.Error(), Times: []int64{}}
	}
	found := []int64{}
	at := time.UnixMilli(asked.After).Local()
	for range asked.Count {
		at = schedule.Next(at)
		if at.IsZero() {
			break
		}
		found = append(found, at.UnixMilli())
	}
	return answer{Times: found}
}
