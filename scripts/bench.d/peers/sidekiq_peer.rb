# frozen_string_literal: true

# Sidekiq's client as a peer of scripts/bench: enqueue, probe.
require_relative "sidekiq_job"

flags = { "queue" => "default", "count" => "0", "batch" => "1000", "callers" => "1",
          "rate" => "50" }
program, *rest = ARGV
rest.each_slice(2) { |name, value| flags[name.delete_prefix("--")] = value }
count, batch, callers = %w[count batch callers].map { |name| flags[name].to_i }
queue = flags["queue"]

case program
when "enqueue"
  share = count / callers
  NoopJob.set(queue: "warm").perform_async(PAYLOAD)
  Sidekiq.redis { |redis| redis.del("queue:warm") }
  start = monotonic_now
  threads = Array.new(callers) do
    Thread.new do
      left = share
      while left.positive?
        size = [batch, left].min
        if batch == 1
          NoopJob.set(queue: queue).perform_async(PAYLOAD)
        else
          Sidekiq::Client.push_bulk("class" => NoopJob, "queue" => queue,
                                    "args" => Array.new(size) { [PAYLOAD] })
        end
        left -= size
      end
    end
  end
  threads.each(&:join)
  puts JSON.generate(jobs: share * callers, seconds: (monotonic_now - start) / 1e9)
when "probe"
  start = monotonic_now
  lines = Array.new(count) do |number|
    due = start + ((number + rand * 0.5) * 1e9 / flags["rate"].to_i).to_i
    sleep([(due - monotonic_now) / 1e9, 0].max)
    sent = monotonic_now
    ProbeJob.set(queue: queue).perform_async(number, sent, PAYLOAD)
    "#{number} #{sent} #{monotonic_now}\n"
  end
  File.write(flags["record"], lines.join) if flags["record"]
  puts JSON.generate(jobs: count)
else
  abort "usage: sidekiq_peer.rb enqueue|probe --flag value…"
end
