#include <string>
#include <string_view>
#include <vector>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

/// Words are between bars.
constexpr std::string_view lines[] = {
    "EVAL|return redis.call('GET')|0",
    "EVAL|return redis.call()|0",
    "EVAL|return redis.call({})|0",
    "EVAL|return redis.pcall('FOO')|0",
    "EVAL|local a = redis.call('FOO') return a|0",
    "EVAL|return x|0",
    "EVAL|local a = x return 1|0",
    "EVAL|x = 1|0",
    "EVAL|return (|0",
    "EVAL|error('boo')|0",
    "EVAL|local a = {} return a.b.c|0",
    "EVAL|error({err='X y'})|0",
    "EVAL|return {err='x'}|0",
    "EVAL|return redis.error_reply('x')|0",
    "EVAL|return redis.error_reply('NO x')|0",
    "EVAL|return redis.error_reply('-NO x')|0",
    "EVAL|return redis.status_reply('fine')|0",
    "EVAL|return {1,2.9,nil,3}|0",
    "EVAL|return {1,'a',true,false,{1,{2}}}|0",
    "EVAL|return 1e300|0",
    "EVAL|return 0/0|0",
    "EVAL|local t=redis.call('TIME') return #t|0",
    "EVAL|return redis.call('EVAL','return 1',0)|0",
    "EVAL|local a=redis.call('SET','k','v') return a|0",
    "EVAL|local a=redis.call('HGET','k','v') return a|0",
    "EVAL|return redis.call('HGET','k','v')|0",
    "EVAL|return redis.pcall('HGET','k','v')|0",
    "EVAL|return 1|a",
    "EVAL|return 1|2|k",
    "EVAL|return 1|-1",
    "EVALSHA|abc|0",
    "EVALSHA|ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD|0",
    "SCRIPT|LOAD|return (",
    "SCRIPT|FOO",
    "SCRIPT|LOAD",
    "SCRIPT",
    "CLUSTER|SLOTS",
    "CLUSTER",
    "FOO|a|b",
    "script|flush|now",
    "READONLY",
    "READWRITE",
    "ASKING",
    "SELECT|x",
    "SELECT|99",
    "HSET|h|a|1|b",
    "HSET|h|a|x",
    "HINCRBY|h|a|1",
    "HINCRBY|h|b|x",
    "BITFIELD|b|set|u8|0|-1|get|u8|0",
    "BITFIELD|b|incrby|u64|0|1",
    "BITFIELD|b|incrby|u8|x|1",
    "BITFIELD|b|foo",
    "BITFIELD|b|overflow|x|incrby|u8|0|1",
    "BITFIELD|b",
    "BITFIELD|b|overflow|fail|incrby|u8|0|300",
    "BITFIELD|b|set|i8|0|200",
    "BITFIELD|b|overflow|sat|set|i8|0|-200|set|i8|0|-9223372036854775808|get|i8|0",
    "BITFIELD|b|overflow|sat|set|i64|0|-5|incrby|i64|0|-9223372036854775808",
    "BITFIELD|b|set|u63|0|-5|get|u63|0",
    "PEXPIRE|k|x",
    "PEXPIRE|k|9223372036854775807",
    "PEXPIRE|k|100|FOO",
    "SET|k|v|PX|0",
    "SET|k|v|PX|a",
    "SET|k|v|FOO",
    "AUTH|x",
    "AUTH|default|x",
    "AUTH|a|b|c",
    "PING|a|b",
    "PING|a",
    "GET",
    "TYPE|k",
    "EVAL|return struct.pack('>I4', 1e12)|0",
    "EVAL|return {struct.unpack('>I4', 'abcd')}|0",
    "EVAL|return {struct.unpack('>I4', 'abc')}|0",
    "EVAL|return redis.call('SET','n',1e20) and redis.call('GET','n')|0",
    "EVAL|return redis.call('SET','n',0.1) and redis.call('GET','n')|0",
    "EVAL|return redis.call('SET','n',true)|0",
    "EVAL|return tostring(redis.call('HGET','nokey','a'))|0",
    "EVAL|return redis.call('HMGET','nokey','a')|0",
    "EVAL|return function() end|0",
    "FLUSHALL|x",
    "EVAL|local t = {} t[1] = {err = 'no'} t[2] = {ok = 'yes'} return t|0",
    "EVAL|return {err = 'two\\nlines'}|0",
    "EVAL|return redis.call('HGETALL', KEYS[1])|1|h",
    "EVAL|return redis.call('HSET', KEYS[1], 'n', 1.5, 'm', 12345678901234567890)|1|h",
    "EVAL|return {redis.call('GET', 'nothing'), redis.call('PTTL', KEYS[1])}|1|h",
    "EVAL|return #KEYS .. ' ' .. #ARGV .. ' ' .. ARGV[2]|2|a|b|c|d",
    "EVAL|return tostring(12345678901234567890) .. tostring(0.1)|0",
    "EVAL|return string.format('%.0f', 1e18)|0",
    "EVAL|local function f() return redis.call('HGET', 'k') end return f()|0",
    "EVAL|local function f() local x = redis.call('HGET', 'k') return x end\nlocal y = f() return y|0",
    "EVAL|error()|0",
    "EVAL|error(12)|0",
    "EVAL|return redis.error_reply({})|0",
    "EVAL|return redis.error_reply('')|0",
    "EVAL|return redis.error_reply('-')|0",
    "EVAL|return redis.status_reply(1)|0",
    "evalsha|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|0",
    "EVAL|return 1|0",
    "evalsha|E0E1F9FABFC9D4800C877A703B823AC0578FF8DB|0",
    "EVALSHA|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|x",
    "SCRIPT|EXISTS|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|abc",
    "SCRIPT|LOAD|return 2",
    "SCRIPT|EXISTS",
    "HMGET|h",
    "HGET|k|a",
    "HSET|k|a|b",
    "HDEL|k|a",
    "HLEN|k",
    "HINCRBY|k|a|1",
    "BITFIELD|h|get|u8|0",
    "RPUSH|l|a|b",
    "RPUSH|h|a",
    "GET|l",
    "TYPE|l",
    "TYPE|h",
    "TYPE|none",
    "DEL|l|h|none",
    "EXISTS|k|k|none",
    "DBSIZE",
    "foo",
    "FOO|a\r\nb",
    "FOO|"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|b",
    "SELECT|3",
    "DBSIZE",
    "SET|in3|x",
    "EVAL|return redis.call('GET', 'in3')|0",
    "SELECT|0",
    "GET|in3",
    "FLUSHALL",
    "DBSIZE",
};

std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> words;
    for (std::size_t bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
        words.emplace_back(line.substr(0, bar));
        line.remove_prefix(bar + 1);
    }
    words.emplace_back(line);
    return words;
}

}  // namespace

bool compare_words(Both& both) {
    for (const std::string_view line : lines) {
        both.send(split(line));
    }
    return both.compare_answers();
}

}  // namespace rate_limit::world
