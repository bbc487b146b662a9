# frozen_string_literal: true

# The jobs of the Sidekiq peer, and their records; loaded by the worker and by the enqueuer.
require "json"
require "sidekiq"

url = { url: ENV.fetch("REDIS_URL") }
Sidekiq.configure_client { |config| config.redis = url.merge(size: 10) }
Sidekiq.configure_server { |config| config.redis = url }
Sidekiq.logger.level = Logger::WARN

PAYLOAD = "x" * 84

def monotonic_now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

# Counts started jobs, and stops the worker after BENCH_COUNT of them.
class Diary
  def initialize
    @lock = Mutex.new
    @expected = ENV.fetch("BENCH_COUNT", "0").to_i
    @noops = 0
    @first = @last = 0
    @probes = []
  end

  def noop
    now = monotonic_now
    add do
      @first = now if @noops.zero?
      @last = now
      @noops += 1
    end
  end

  def probe(number, sent)
    now = monotonic_now
    add { @probes << [number, sent, now] }
  end

  private

  def add
    @lock.synchronize do
      yield
      finish if @noops + @probes.size == @expected
    end
  end

  def finish
    if ENV["BENCH_RECORD"]
      File.write(ENV["BENCH_RECORD"], @probes.map { |probe| "#{probe.join(' ')}\n" }.join)
    end
    puts JSON.generate(jobs: @noops, first_ns: @first, last_ns: @last,
                       seconds: (@last - @first) / 1e9)
    $stdout.flush
    Process.kill("TERM", Process.pid)
  end
end

DIARY = Diary.new

class NoopJob
  include Sidekiq::Worker

  def perform(_payload)
    DIARY.noop
  end
end

class ProbeJob
  include Sidekiq::Worker

  def perform(number, sent, _payload)
    DIARY.probe(number, sent)
  end
end
