-- What every script begins with. Numbers stay texts: Lua's own are doubles, which round above 2^53.
local key = KEYS[1]
local kind = redis.call('TYPE', key).ok

-- Whether a text is a whole number of 64 bits as INCR wants it.
local function is_whole(text)
  if text == '0' then return true end
  local sign, digits = string.match(text, '^(%-?)([1-9]%d*)$')
  if not digits or #digits > 19 then return false end
  local largest = sign == '-' and '9223372036854775808' or '9223372036854775807'
  return #digits < 19 or digits <= largest
end

-- What the key holds: its number, or nil and why it has none.
local function counter()
  if kind == 'hash' then
    local held = redis.call('HMGET', key, 'move', 'last')
    if held[1] and held[2] then return nil, {'fenced', held[1], held[2]} end
  end
  if kind ~= 'string' then return nil, {'other', kind} end
  if redis.call('STRLEN', key) > 20 then return nil, {'other', 'long string'} end
  local value = redis.call('GET', key)
  if not is_whole(value) then return nil, {'other', 'string that is no whole number'} end
  if redis.call('PTTL', key) ~= -1 then return nil, {'other', 'string that expires'} end
  return value
end
