// What the API speaks of comes with it: a program needs `import Errand` and nothing else.
@_exported public import ErrandPostgres
@_exported public import enum ErrandRecurrence.GapRule
@_exported public import enum ErrandRecurrence.RepeatRule
@_exported public import struct ErrandRedis.RedisAddress
@_exported public import enum ErrandRedis.RedisError
