// Re-exports the types of the API, so that a program needs only `import Errand`.
@_exported public import ErrandPostgres
@_exported public import enum ErrandRecurrence.GapRule
@_exported public import enum ErrandRecurrence.RepeatRule
@_exported public import struct ErrandRedis.RedisAddress
@_exported public import enum ErrandRedis.RedisError
