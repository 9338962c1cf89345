# A rate limiter for nginx: see `make help`.

NAME := ngx_http_rate_limit_module
BUILD ?= build
DEPS ?= build/deps
PORT ?= 8080
STORE ?= $(or $(if $(SENTINEL),sentinel)$(if $(CLUSTER),cluster)$(if $(FAR),far)$(if $(MODELS),models)$(if $(REGIONS),regions),redis)
TEST_JOBS ?= $(shell expr 3 \* $$(nproc))
MINUTES ?= 30
CC ?= cc
STRIP ?= strip
HIREDIS_SRC ?=

# make takes a path with a space for two.
refuse_space = $(if $(filter-out 1,$(words x$($(1))x)),$(error $(1) is "$($(1))", and make cannot handle a path with a space: $(2)))
$(call refuse_space,CURDIR,move the sources to a path without one)
$(foreach path,BUILD DEPS NGINX NGINX_SRC HIREDIS_SRC,$(call refuse_space,$(path),give $(path) a path without one))

# The nginx that is matched: as told, else the one built in NGINX_SRC, else the installed one.
system_path := $(PATH):/usr/local/sbin:/usr/sbin
ifneq ($(NGINX),)
nginx := $(abspath $(shell PATH="$(system_path)" command -v "$(NGINX)"))
ifeq ($(nginx),)
$(error NGINX=$(NGINX) is no program)
endif
else ifneq ($(and $(NGINX_SRC),$(wildcard $(NGINX_SRC)/objs/nginx)),)
nginx := $(abspath $(NGINX_SRC)/objs/nginx)
else
nginx := $(abspath $(shell PATH="$(system_path)" command -v nginx))
endif

# hiredis: built from the sources that are given, else the system's if it will do, else our own.
export HIREDIS_SRC
ifeq ($(HIREDIS_SRC)$(shell pkg-config --atleast-version=1.0.0 hiredis 2>/dev/null && echo yes),yes)
hiredis_built :=
hiredis_includes := $(addprefix -isystem ,$(filter-out /usr/include,$(shell pkg-config --variable=includedir hiredis)))
hiredis_libs := $(shell pkg-config --libs hiredis)
else
hiredis_built := $(DEPS)/hiredis/lib/libhiredis.a
hiredis_includes := -isystem $(DEPS)/hiredis/include
hiredis_libs := $(hiredis_built)
endif

jobs := $(shell nproc 2>/dev/null || echo 2)
again = $(MAKE) --no-print-directory $(if $(NGINX),NGINX='$(NGINX)')
recurse = $(again) $(if $(findstring j,$(filter-out --%,$(MAKEFLAGS))),,-j$(jobs))

# nginx itself takes a variable of this name for a list of inherited sockets.
unexport NGINX

module := $(BUILD)/$(NAME).so
configured := $(BUILD)/nginx
generated := $(BUILD)/generated
sources := $(wildcard src/*/*.cpp src/*/*/*.cpp src/*/*/*/*.cpp)
headers := $(wildcard src/*/*.h src/*/*/*.h src/*/*/*/*.h)
embedded := $(addprefix $(generated)/,scripts.inc version.inc)
# The sources of a layer are compiled in so many parts: each part reads what it includes once. `make lint` reads
# each source by itself, and so finds what it does not include, and each layer as a whole: no two of its sources may call two things the same.
# The static analyzer recognizes such a file by its name. The NOLINT in it is for clang-tidy, which does not like to see an included source.
layers := limiter ngx operator core redis
parts := core/1 core/2 redis/1 $(addprefix limiter/,1 2 3 4 5) operator/1 operator/2 ngx/1 ngx/2 ngx/3
unified := $(parts:%=$(generated)/parts/%/UnifiedSource.cpp)
objects := $(parts:%=$(BUILD)/obj/%/UnifiedSource.o)
pure_objects := $(filter-out $(BUILD)/obj/ngx/%,$(objects))
# Tests that need no process: parts alone, and scenarios of the whole limiter in virtual time.
unit_sources := $(wildcard t/unit/*.cpp t/limiter/*.cpp)
unit_parts := $(addprefix unit/,1 2 3) $(addprefix limiter/,1 2 3)
unit_unified := $(unit_parts:%=$(generated)/tests/%/UnifiedSource.cpp)
unit_objects := $(unit_parts:%=$(BUILD)/%/UnifiedSource.o)
# The world in which the limiter runs without nginx.
world_sources := $(wildcard t/world/*.cpp)
# Rooms of t that are libraries or programs, each compiled as one source.
test_rooms := world worlds
unified_tests := $(test_rooms:%=$(generated)/tests/%/UnifiedSource.cpp)
world_object := $(BUILD)/world/UnifiedSource.o
worlds_object := $(BUILD)/worlds/UnifiedSource.o
worlds_main := $(BUILD)/worlds/main.o
lua_includes = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I lua5.1))
lua_libs = $(shell pkg-config --libs lua5.1)
unit_tests := $(BUILD)/unit/unit_tests
fuzz_sources := $(wildcard t/fuzz/*_fuzz.cpp)
fuzz_objects := $(filter-out $(BUILD)/fuzz/ngx/%,$(unified:$(generated)/parts/%.cpp=$(BUILD)/fuzz/%.o)) $(fuzz_sources:t/%.cpp=$(BUILD)/%.o)
fuzzers := $(fuzz_sources:t/fuzz/%_fuzz.cpp=$(BUILD)/fuzz/%)

dialect := -std=c++17 -Isrc -I$(generated) $(hiredis_includes)
# Calls across files are inlined where compiler and linker can do that as GCC does, but not where errors are looked for.
lto := $(if $(findstring -fsanitize,$(CXXFLAGS)),,$(shell echo 'int x;' | \
    $(CXX) -Werror -flto=auto -ffat-lto-objects -fPIC -shared -x c++ -o /dev/null - 2>/dev/null && echo -flto=auto -ffat-lto-objects))
# Functions and lines for backtraces, compressed: what is built takes two thirds of the room.
code := -O2 -g1 -gz -fPIC -fvisibility=hidden -fstack-protector-strong
warnings := -Wall -Wextra -Werror
# Optimized, the macros of GoogleTest take twice as long to compile. What they test is optimized as ever, but for templates.
unit_code = -Og -fno-lto -pthread
compile = $(CXX) $(dialect) $(code) $(lto) $(warnings) @$(configured)/cc-opt $(CXXFLAGS) -MMD -MP

# Programs over the world of virtual time, each compiled as one source: the simulator of many machines, and what compares the Redis of that world
# with a real one.
simulator := $(BUILD)/simulate/simulate
differential := $(BUILD)/differential/differential
clock_of_redis := $(BUILD)/differential/clock.so
program_objects := $(patsubst %,$(BUILD)/%/UnifiedSource.o,simulate differential)
replay := $(BUILD)/simulate/replay

# Tests that take too long for each change: marked so by their head, or their folder.
soaks := $(wildcard t/soak/*.t)
nightly_tests = $(shell grep -rlxE --include='*.t' '\# nightly' t)
in_browser := $(wildcard t/browser/*.t)
# Folders with the longest tests begin, so that none of these runs alone at the end.
begin := t/simulate/% t/scripts/% t/zone/% t/store/%
daily_tests = $(filter $(begin),$(daily)) $(filter-out $(begin),$(daily))
daily = $(filter-out $(nightly_tests) $(soaks) $(in_browser),$(shell find t -name '*.t' | sort))

# Tells when the package was built.
packaged := $(BUILD)/deb/built

# Another nginx, of a release of Debian or a source tree, and what is tested there.
SUITE ?= trixie
RELEASE ?= bookworm
other := nginx-$(notdir $(abspath $(SUITE)))
version_tests := $(addprefix t/,packaging/module_loads.t modes/check_charge/check_then_charge.t \
    $(addprefix request/,satisfy_any.t subrequests.t http2.t keepalive.t) faults/workers/reload_waiting.t)

# A clock or a name of the test's own comes from a preloaded library, which address sanitizing does not bear. Exceptions are seen only
# where nginx itself is linked with the C++ library. The demo starts nginx by a script of its own.
sanitized_rows = $(shell grep -rlE --include='*.t' '^\# Rows? ([0-9a-z]+, )*(9|10|11|21|22|23)(, [0-9a-z]+)* of the fault matrix' t/faults)
plain_rows = $(filter-out $(sanitized_rows),$(wildcard $(addsuffix /*.t,$(addprefix t/faults/,sentinel cluster redirections))))
sanitized_tests = $(filter-out t/packaging/demo.t $(nightly_tests) $(soaks) $(in_browser) $(plain_rows),$(shell grep -rLE --include='*.t' '\b(clock|speed) *=> *[0-9$$]|LD_PRELOAD' t | sort))
sanitize_nginx := -O1 -U_FORTIFY_SOURCE -fsanitize=address -fno-omit-frame-pointer -DNGX_DEBUG_PALLOC=1 \
    -Wl,--no-as-needed -lstdc++
sanitize_module := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wl,-z,nodelete

valgrind_tests := $(addprefix t/,modes/check_charge/check_then_charge.t request/client_abort.t request/keepalive.t \
    faults/nodes/none_left.t faults/workers/reload_waiting.t)

# This build of a copy of the sources hedges without bound.
unbounded_tree := $(BUILD)/bench/unbounded
unbounded := $(unbounded_tree)/build/$(NAME).so

# Each step prints one line; V=1 shows the commands.
V ?=
quiet = $(if $(V),,@echo '  $(1)  $@' &&)
# The line tells how far a new build of the module is; where files are built anew, it is the last of them.
counted = $(if $(V),,@n=$$(($$(ls $(objects) 2>/dev/null | wc -l) + 1)) && \
    echo "  CXX  $@ ($$((n > $(words $(objects)) ? $(words $(objects)) : n)) of $(words $(objects)))" &&)

.PHONY: all module deps hiredis run demo test unit prove nightly browser faults soak bench bench-shards bench-hedges bench-far bench-regions bench-scrape bench-saturation bench-tls bench-accuracy bench-slots bench-fleet bench-scripts bench-table bench-plot simulate simulate-cells dist versions servers sanitize valgrind fuzz fuzzers \
    lint format-check layer-check alone measured tidy install uninstall deb deb-check image clean distclean help FORCE
.DELETE_ON_ERROR:

all:
	+@$(recurse) module

help:
	@echo 'make            builds $(module), matching nginx -V of $(or $(nginx),nginx)'
	@echo '                NGINX=binary  NGINX_SRC=source tree  BUILD=dir'
	@echo 'make deps       installs or builds what this machine lacks; HIREDIS_SRC=source tree of hiredis: builds that'
	@echo '                GROUPS="package prometheus ...": those of tools/deps, instead of what "make" needs; other targets install what they need'
	@echo 'make run        a demo on PORT ($(PORT)): two shards of three redis-servers, nginx in front; STORE=local: nginx alone;'
	@echo '                SENTINEL=1: one shard and three sentinels; CLUSTER=1: a Redis Cluster of six nodes; FAR=1: a far primary; REGIONS=1: two regions;'
	@echo '                MODELS=1: language models'
	@echo 'make test       unit tests and scenarios in virtual time, then real nginx and redis-server processes'
	@echo 'make unit, make prove [T=t/x.t]   one half of it, against what is installed'
	@echo 'make nightly    tests that take longer, by their heads: a hundred thousand aborted requests, ...'
	@echo 'make browser    the console in a real browser; installs one. SHOTS=dir: keeps pictures of it there'
	@echo 'make versions   a few tests with another nginx (SUITE=$(SUITE), a Debian release or a source tree)'
	@echo 'make servers    fetches other versions of Redis and Valkey; REDIS_SERVER=one of them make prove'
	@echo 'make faults     the rows of the fault matrix, with each of these servers and the installed one; ROWS="9 10-13" SERVERS="system ..."'
	@echo 'make soak       faults at random for MINUTES ($(MINUTES)) with Sentinel, and again with Redis Cluster; SENTINEL=1 or CLUSTER=1:'
	@echo '                with that alone; SEED=number: the same faults again; FAULTS="failover,reload": these alone'
	@echo 'make sanitize   the tests, with nginx and module built with AddressSanitizer and UBSan; FOLDERS=t/store'
	@echo 'make bench      side by side: plain nginx, limit_req, Lua, this module; writes docs/benchmarks.md; OTHER_MODULE=another build of it'
	@echo 'make bench-shards  the second part of it alone: one, four and eight shards, with few keys and with many'
	@echo 'make bench-tls     the last part of it alone: check_charge over TLS and in clear text, and handshakes'
	@echo 'make bench-hedges  what a slow replica gives to the other nodes; writes docs/benchmarks.md too'
	@echo 'make bench-far     what distances cost, with a far primary and a near replica; writes docs/benchmarks.md too'
	@echo 'make bench-regions what regions that write at home cost, and what a cut of one does; writes docs/benchmarks.md too'
	@echo 'make bench-scrape  what the console costs the worker that answers; writes docs/benchmarks.md too'
	@echo 'make bench-saturation  one key that saturates a primary, in each mode, and what becomes of others; writes docs/benchmarks.md too'
	@echo 'make bench-slots   how many commands a request with rate_limit_concurrency costs Redis, by limit and load'
	@echo 'make bench-fleet   what a hundred nginx cost Redis that share one key of rate_limit_concurrency'
	@echo 'make bench-scripts what a call of a script of windows costs Redis; OTHER=FOLDER: against those of another version'
	@echo 'make bench-table   the memory of windows alone: one process, two; looking after tokens; keys that are rejected; counters; overrides; bodies'
	@echo 'make world         the limiter in random worlds: SEEDS of them ($(SEEDS)), or as many as SECONDS hold, from the seed FIRST on;'
	@echo '                   or one, SEED, whose events are told, with some of its FAULTS alone ("0,3" or "none"); SANITIZE=1;'
	@echo '                   FAR=1: in worlds of several data centers; REGIONS=1: in those in which each is a region of the store'
	@echo 'make world-past    whether random worlds find past faults, which it puts back one at a time'
	@echo 'make differential  whether the Redis of virtual time does what a real one does; CALLS=number of each script SEED=number'
	@echo 'make bench-accuracy  how many requests over the limit two machines admit, with fresh views and without'
	@echo 'make bench-plot    draws docs/lease.svg: how many requests reach Redis'
	@echo 'make simulate   the simulator over the limiter itself, checked against real Redis and real nginx: a hundred machines, in an hour;'
	@echo '                writes docs/benchmarks.md and its drawings; QUICK=1: whether all of it works; SEED=number: of the first run'
	@echo 'make simulate-cells  the last part of it alone; CELLS="0 11": these, by their numbers'
	@echo 'make valgrind   some tests under valgrind'
	@echo 'make fuzz       each parser fed with noise for SECONDS ($(or $(SECONDS),20))'
	@echo 'make bodies     BODIES random bodies ($(BODIES)), each cut anywhere: what is read of them is what they say'
	@echo 'make lint       clang-format, clang-tidy, layers; QUICK=1: without the static analyzer and what each source includes'
	@echo 'make install, make uninstall   into and out of the modules directory of nginx (DESTDIR)'
	@echo 'make deb        builds the Debian package for this Debian, into $(BUILD)/deb'
	@echo 'make deb-check  as root: builds, checks, installs and removes it in a Debian of its own; RELEASE=$(RELEASE)'
	@echo 'make image      as root: an OCI archive of nginx with this package, for containers, into $(BUILD)/image'
	@echo 'make dist       packs the sources into $(BUILD)'
	@echo 'make clean, make distclean   without, with our own build of hiredis'

module: $(module)

$(module): $(objects) $(BUILD)/obj/modules.o $(hiredis_built) $(configured)/key
	$(call quiet,LINK)$(CXX) -shared -O2 -gz $(lto) -o $@ $(objects) $(BUILD)/obj/modules.o @$(configured)/ld-opt $(LDFLAGS) \
	    -Wl,--exclude-libs,ALL $(hiredis_libs) -lssl -lcrypto

# Touched only when nginx or its flags changed.
$(configured)/key: FORCE
	@mkdir -p $(configured)
	@NGINX_BINARY='$(nginx)' NGINX_SRC='$(NGINX_SRC)' CC='$(CC)' tools/nginx-configure $(configured)

$(configured)/cc-opt $(configured)/modules.c: $(configured)/key ;

$(BUILD)/obj/modules.o: $(configured)/modules.c $(configured)/key
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) -O2 -g -fPIC -Wall @$(configured)/cc-opt @$(configured)/includes $(CFLAGS) -c -o $@ $<

$(pure_objects): $(BUILD)/obj/%.o: $(generated)/parts/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(counted)$(compile) -c -o $@ $<

# These objects are linked only into the module, which is linked by $(lto) anyway.
$(BUILD)/obj/ngx/%.o: $(generated)/parts/ngx/%.cpp Makefile $(configured)/key $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(counted)$(subst -ffat-lto-objects,,$(compile)) @$(configured)/includes -c -o $@ $<

# Touched only when the part has other files.
$(unified): $(generated)/parts/%/UnifiedSource.cpp: FORCE
	@$(call unify,$(call part,$(call layer,$(*D)),$(*F),$(words $(filter $(*D)/%,$(parts)))))

layer = $(patsubst src/%,%,$(sort $(filter src/$(1)/%,$(sources))))

# Of a list the part NUMBER of COUNT. Neighbours stay together: they include the same.
part = $(shell printf '%s\n' $(1) | awk '{ of[NR] = $$0 } END { for (i = 1; i <= NR; ++i) if (int((i - 1) * $(3) / NR) + 1 == $(2)) print of[i] }')

# Tests run makes side by side: each writes a file of its own.
unify = mkdir -p $(@D) && printf '\#include "%s"  // NOLINT\n' $(1) > $@.$$$$ && if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi

$(generated)/scripts.inc: $(wildcard lua/*.lua)
	@mkdir -p $(@D)
	for script in $^; do printf '{"%s", R"lua(' "$${script##*/}"; cat "$$script"; printf ')lua"},\n'; done > $@

$(generated)/version.inc: VERSION
	@mkdir -p $(@D)
	printf '"%s"\n' "$$(cat $<)" > $@

hiredis: $(hiredis_built)
	@:

# Touched only when the sources that are given changed.
$(DEPS)/hiredis/lib/libhiredis.a: $(if $(HIREDIS_SRC),FORCE)
	@tools/hiredis $(DEPS)/hiredis

deps:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps $(GROUPS)
	+@$(again) hiredis

run:
	@case ' local $(notdir $(wildcard tools/layouts/*)) ' in *' $(STORE) '*) ;; *) echo 'STORE=$(STORE) is no store: give one of local $(notdir $(wildcard tools/layouts/*))' >&2; exit 1 ;; esac
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run $(if $(filter local,$(STORE)),,redis)
	+@$(recurse) module
	+@demo=$$($(again) -s demo) && eval "exec env $$demo tools/run"

# Variables that the demo needs, printed when nginx and the module are there. The demo itself is the only child of the first make: a signal
# to that reaches it, make waits for its end, and says nothing of it.
demo:
	@printf "%s='%s' " NGINX_BINARY '$(nginx)' MODULE '$(abspath $(module))' PORT '$(PORT)' STORE '$(STORE)'

test:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module $(unit_tests) $(differential) $(simulator)
	+@$(again) unit
	+@$(again) prove

# What compiles or reads the tests' sources needs libraries that the module does not.
.PHONY: test-libraries
test-libraries:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build test

# The tests run in parts, as many at a time as there are processors.
unit: $(unit_tests)
	seq 0 $$((4 * $(jobs) - 1)) | GTEST_TOTAL_SHARDS=$$((4 * $(jobs))) xargs -P $(jobs) -I PART env GTEST_SHARD_INDEX=PART $(unit_tests) --gtest_brief=1

$(unit_tests): $(unit_objects) $(worlds_object) $(world_object) $(pure_objects) $(hiredis_built)
	$(call quiet,LINK)$(CXX) -fno-lto -gz -o $@ $(unit_objects) $(worlds_object) $(world_object) $(pure_objects) $(LDFLAGS) $(hiredis_libs) $(lua_libs) -lssl -lcrypto \
	    -lgtest_main -lgtest -pthread

# Whatever their names, each source is in one part.
$(unit_unified): $(generated)/tests/%/UnifiedSource.cpp: FORCE
	@$(call unify,gtest/gtest.h $(call part,$(sort $(wildcard t/$(*D)/*.cpp)),$(*F),$(words $(filter $(*D)/%,$(unit_parts)))))

$(unified_tests): $(generated)/tests/%/UnifiedSource.cpp: FORCE
	@$(call unify,$(filter-out %/main.cpp,$(sort $(wildcard t/$*/*.cpp))))

$(world_object) $(worlds_object): $(BUILD)/%.o: $(generated)/tests/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded) test-libraries
	@mkdir -p $(@D)
	$(call quiet,CXX)$(compile) -fno-lto $(lua_includes) -I. -c -o $@ $<

$(worlds_main): t/worlds/main.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,CXX)$(compile) -fno-lto -I. -c -o $@ $<

# The limiter in random worlds: SEEDS of them from FIRST on, or as many as SECONDS hold, from one of the day; before them those that have
# failed once. SEED: it alone, and its events are told; with some of its FAULTS alone. FAR=1: in worlds of several data centers.
# REGIONS=1: in those in which each data center is a region of the store. SANITIZE=1: under AddressSanitizer and UBSan.
worlds := $(BUILD)/worlds/world
places = $(if $(REGIONS),regions,$(if $(FAR),far))
SEEDS ?= 1000

$(worlds): $(worlds_main) $(worlds_object) $(world_object) $(pure_objects) $(hiredis_built)
	$(call quiet,LINK)$(CXX) -fno-lto -gz -o $@ $(filter %.o,$^) $(LDFLAGS) $(hiredis_libs) $(lua_libs) -lssl -lcrypto

$(program_objects:$(BUILD)/%.o=$(generated)/programs/%.cpp): $(generated)/programs/%/UnifiedSource.cpp: FORCE
	@$(call unify,$(sort $(wildcard t/$*/*.cpp bench/$*/*.cpp)))

$(program_objects): $(BUILD)/%.o: $(generated)/programs/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,CXX)$(compile) -fno-lto -I. -c -o $@ $<

$(simulator) $(differential): $(world_object) $(pure_objects) $(hiredis_built)
	$(call quiet,LINK)$(CXX) -fno-lto -gz -o $@ $(filter %.o,$^) $(LDFLAGS) $(hiredis_libs) $(lua_libs) -lssl -lcrypto
$(simulator): $(BUILD)/simulate/UnifiedSource.o
$(differential): $(BUILD)/differential/UnifiedSource.o $(clock_of_redis)

# Arguments that make no sense are refused before anything is built or runs.
ifneq ($(filter world,$(MAKECMDGOALS)),)
none :=
comma := ,
said := $(strip $(foreach word,SEED FAULTS SECONDS SEEDS FIRST,$(if $(filter-out undefined file,$(origin $(word))),$(word))))
together := $(subst $(none) $(none),+,$(said))
refuse_word = $(if $(shell printf '%s\n' '$($(1))' | grep -xE '$(2)'),,$(error $(1) is "$($(1))", and "make world" wants $(3)))
$(if $(filter-out SEED SEED+FAULTS SECONDS SECONDS+FIRST SEEDS SEEDS+FIRST FIRST,$(together)),$(error \
    "make world" takes SEEDS, SECONDS, each perhaps with FIRST, or SEED, perhaps with FAULTS, but not $(together)))
$(foreach word,$(filter SEEDS,$(said)),$(call refuse_word,$(word),[1-9][0-9]{0$(comma)17},a whole number from 1 on))
$(foreach word,$(filter SECONDS,$(said)),$(call refuse_word,$(word),[1-9][0-9]{0$(comma)8},a whole number from 1 on$(comma) of nine digits at most))
$(foreach word,$(filter SEED FIRST,$(said)),$(call refuse_word,$(word),[0-9]{1$(comma)18},a whole number))
$(foreach word,$(filter FAULTS,$(said)),$(call refuse_word,$(word),none|[0-9]+($(comma)[0-9]+)*,numbers such as 0$(comma)3$(comma) or none))
$(foreach word,SANITIZE FAR REGIONS,$(if $($(word)),$(call refuse_word,$(word),1,$(word)=1 or nothing)))
endif

.PHONY: world worlds
ifdef SANITIZE
world: export UBSAN_OPTIONS := print_stacktrace=1
world worlds:
	+@$(recurse) $@ SANITIZE= BUILD='$(BUILD)/sanitized-world' CXXFLAGS='$(sanitize_module)' LDFLAGS='$(sanitize_module)' lto=
else
worlds: $(worlds)
world: $(worlds)
ifdef SEED
	$(worlds) $(places) seed $(SEED) $(FAULTS)
else
	$(worlds) $(places) failed t/worlds/failed_$(addsuffix _,$(places))seeds
	$(worlds) $(places) $(if $(SECONDS),seconds $(SECONDS) $(or $(FIRST),$(shell date -u +%Y%m%d)000000),$(SEEDS) $(FIRST))
endif
endif

# Nightly: faults of the past are put back, and each must be found within a thousand seeds.
.PHONY: world-past
world-past: $(worlds)
	MAKE='$(MAKE)' DEPS='$(DEPS)' tools/past-worlds 1000 '$(BUILD)'

$(unit_objects): $(BUILD)/%.o: $(generated)/tests/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded) test-libraries
	@mkdir -p $(@D)
	$(call quiet,CXX)$(compile) $(unit_code) -I. -c -o $@ $<

prove: $(module)
	$(if $(WATCH),NGINX_BINARY='$(nginx)') TEST_NGINX_BINARY='$(if $(WATCH),$(abspath tools/watched-nginx),$(nginx))' \
	    TEST_NGINX_MODULE='$(abspath $(module))' PERL5LIB='$(abspath t/lib)' \
	    prove -MRateLimit::Preloaded -j$(TEST_JOBS) $(PROVE_OPTIONS) -r $(or $(T),$(daily_tests))

nightly:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	+@$(again) prove T='$(filter-out t/faults/%,$(nightly_tests))'

browser:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test browser
	+@$(recurse) module
	+@$(again) prove T=t/browser

versions:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	NGINX_BINARY='$(nginx)' tools/nginx '$(SUITE)' '$(DEPS)/$(other)'
	+@$(MAKE) --no-print-directory prove BUILD='$(BUILD)/$(other)' NGINX='$(DEPS)/$(other)/src/objs/nginx' \
	    NGINX_SRC='$(DEPS)/$(other)/src' T='$(or $(T),$(version_tests))'

servers:
	@tools/servers '$(BUILD)/servers'

faults: $(module)
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' PERL5LIB='$(abspath t/lib)' \
	    TEST_JOBS='$(TEST_JOBS)' ROWS='$(ROWS)' SERVERS='$(SERVERS)' tools/faults '$(BUILD)/servers' '$(BUILD)/faults'

soak: $(module)
	@failed=; for soak in $(if $(SENTINEL)$(CLUSTER),$(if $(SENTINEL),sentinel) $(if $(CLUSTER),cluster),sentinel cluster); do \
	    TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' PERL5LIB='$(abspath t/lib)' \
	    MINUTES='$(MINUTES)' SEED='$(SEED)' FAULTS='$(FAULTS)' perl "t/soak/$$soak.t" || failed=1; \
	done; exit $${failed:-0}

sanitize: export ASAN_OPTIONS := detect_leaks=0:detect_odr_violation=0:print_legend=0
sanitize: export UBSAN_OPTIONS := print_stacktrace=1
sanitize: export TEST_SLOW := 3
sanitize: export WATCH := leaks
sanitize:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	NGINX_BINARY='$(nginx)' tools/nginx '$(or $(NGINX_SRC),own)' '$(DEPS)/nginx-sanitized' $(sanitize_nginx)
	+@$(recurse) unit prove BUILD='$(BUILD)/sanitized' NGINX='$(DEPS)/nginx-sanitized/src/objs/nginx' \
	    NGINX_SRC='$(DEPS)/nginx-sanitized/src' CXXFLAGS='$(sanitize_module)' LDFLAGS='$(sanitize_module)' \
	    T='$(or $(T),$(filter $(addsuffix /%,$(or $(FOLDERS),t)),$(sanitized_tests)))'

valgrind: export TEST_SLOW := 10
valgrind: export WATCH := valgrind
valgrind: export WATCH_LOGS = $(abspath $(BUILD)/valgrind)
valgrind:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test valgrind
	rm -rf '$(WATCH_LOGS)' && mkdir -p '$(WATCH_LOGS)'
	+@$(recurse) module
	+@$(again) prove T='$(or $(T),$(valgrind_tests))' PROVE_OPTIONS="--exec 'perl -Itools -MUnderValgrind'" || failed=1; \
	if grep -l rate_limit '$(WATCH_LOGS)'/*; then echo 'valgrind found errors, see these' >&2; failed=1; fi; exit $${failed:-0}

fuzz:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build fuzz
	+@$(recurse) fuzzers
	@printf '%s\n' $(notdir $(fuzzers)) | xargs -P $(jobs) -I FUZZER tools/fuzz $(BUILD)/fuzz/FUZZER t/fuzz/seeds/FUZZER $(or $(SECONDS),20)

# Random bodies, as many as BODIES says: the unit tests read a few of them.
BODIES ?= 1000000

.PHONY: bodies
bodies: $(unit_tests)
	BODIES=$(BODIES) $(unit_tests) --gtest_brief=1 --gtest_filter='RandomBodies.*'

fuzzers: $(fuzzers)

$(fuzzers): $(BUILD)/fuzz/%: $(BUILD)/fuzz/%_fuzz.o $(filter $(BUILD)/fuzz/core/% $(BUILD)/fuzz/redis/%,$(fuzz_objects))
	$(call quiet,LINK)clang++ -o $@ $^ -fsanitize=fuzzer,address,undefined $(hiredis_libs) -lssl -lcrypto

fuzz_compile = clang++ $(dialect) -O1 -g $(warnings) -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize-recover=undefined -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/%_fuzz.o: t/fuzz/%_fuzz.cpp Makefile $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,CXX)$(fuzz_compile)

$(BUILD)/fuzz/%.o: $(generated)/parts/%.cpp Makefile $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,CXX)$(fuzz_compile)

lint: format-check layer-check
	+@$(recurse) $(if $(QUICK),measured,alone) tidy

format-check:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build lint
	@clang-format --dry-run -Werror $(sources) $(headers) $(unit_sources) $(world_sources) $(wildcard t/unit/*.h t/world/*.h t/limiter/*.h t/worlds/*.h t/worlds/*.cpp t/differential/*.h t/differential/*.cpp t/fuzz/*.h) $(fuzz_sources) \
	    $(wildcard bench/*.cpp $(addprefix bench/simulate/,*.h *.cpp */*.cpp))

layer-check:
	@tools/layers $(sources) $(headers)

# Each source includes what it needs, also where it is not read behind others of its room. Programs that measure are built when they are used:
# they are read each time.
alone: measured $(sources:src/%.cpp=$(BUILD)/alone/%) $(unit_sources:t/%.cpp=$(BUILD)/alone/t/%)

measured: $(patsubst %.cpp,$(BUILD)/alone/%,$(wildcard bench/*.cpp))

$(BUILD)/alone/bench/%: bench/%.cpp Makefile
	@mkdir -p $(@D)
	$(call quiet,READ)$(CXX) $(dialect) $(warnings) -Isrc -I. -MMD -MP -MF $@.d -MT $@ -fsyntax-only $<
	@touch $@

$(BUILD)/alone/%: src/%.cpp Makefile $(configured)/key $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,READ)$(CXX) $(dialect) $(warnings) @$(configured)/cc-opt $(if $(filter ngx/%,$*),@$(configured)/includes) -MMD -MP -MF $@.d -MT $@ -fsyntax-only $<
	@touch $@

$(BUILD)/alone/t/%: t/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(embedded) test-libraries
	@mkdir -p $(@D)
	$(call quiet,READ)$(CXX) $(dialect) $(warnings) @$(configured)/cc-opt -I. -include gtest/gtest.h -MMD -MP -MF $@.d -MT $@ -fsyntax-only $<
	@touch $@

-include $(sources:src/%.cpp=$(BUILD)/alone/%.d) $(unit_sources:t/%.cpp=$(BUILD)/alone/t/%.d) $(patsubst %.cpp,$(BUILD)/alone/%.d,$(wildcard bench/*.cpp))

# QUICK=1: without the static analyzer, which takes four fifths of the time.
tidied := $(BUILD)/tidy$(if $(QUICK),/quick)

# Most of its time goes to what sources include, so that a layer is read at once.
whole_layers := $(layers:%=$(generated)/layers/%/UnifiedSource.cpp)

$(whole_layers): $(generated)/layers/%/UnifiedSource.cpp: FORCE
	@$(call unify,$(call layer,$*))

tidy: $(layers:%=$(tidied)/%/passed) $(test_rooms:%=$(tidied)/t/%/passed)

$(tidied)/t/%/passed: $(generated)/tests/%/UnifiedSource.cpp $(wildcard $(test_rooms:%=t/%/*)) $(headers) .clang-tidy Makefile tools/tidy \
    $(configured)/cc-opt $(hiredis_built) | $(embedded) test-libraries
	@mkdir -p $(@D)
	$(call quiet,TIDY)tools/tidy $< $(if $(QUICK),--checks='-clang-analyzer-*') -- $(dialect) $(lua_includes) -I.
	@touch $@

$(layers:%=$(tidied)/%/passed): $(tidied)/%/passed: $(generated)/layers/%/UnifiedSource.cpp $(sources) $(headers) .clang-tidy Makefile tools/tidy \
    $(configured)/key $(hiredis_built) | $(embedded)
	@mkdir -p $(@D)
	$(call quiet,TIDY)tools/tidy $< $(if $(QUICK),--checks='-clang-analyzer-*') -- $(dialect) $(if $(filter ngx,$*),@$(configured)/includes)
	@touch $@

# The module is installed in one step: a running nginx keeps the file that it has loaded, and a new one finds the old or the
# new file.
install: all
	@installed="$(DESTDIR)$$(cat $(configured)/modules-path)/$(NAME).so" && \
	install -d "$${installed%/*}" && $(STRIP) --strip-unneeded -o "$$installed.new" $(module) && \
	chmod 644 "$$installed.new" && mv -f "$$installed.new" "$$installed" && echo "installed $$installed"

uninstall: $(configured)/key
	@installed="$(DESTDIR)$$(cat $(configured)/modules-path)/$(NAME).so" && rm -f "$$installed" && echo "removed $$installed"

deb:
	@NGINX_SRC= tools/deps build run package
	@tools/deb '$(BUILD)/deb' '$(DEPS)/hiredis-sources'
	@touch '$(packaged)'

# Built again when what is in the package has changed.
$(packaged): $(sources) $(headers) $(wildcard lua/*.lua packaging/debian/* packaging/debian/*/*) Makefile VERSION config tools/deb tools/hiredis tools/nginx-configure
	+@$(again) deb

# This target needs root. It puts the package into a Debian of its own, as an archive that container engines load.
image: $(packaged)
	@tools/deps image
	@tools/image '$(BUILD)/image' '$(BUILD)/deb'

dist:
	@tools/dist '$(BUILD)'

# The package is checked in a Debian of its own, whichever this is: a build without a network, lintian, blhc, mandoc, and
# autopkgtest.
deb-check:
	@tools/deps package-check
	@tools/deb-check '$(RELEASE)' '$(BUILD)/deb-check'

bench:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test bench
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' CXX='$(CXX)' \
	    WORK='$(abspath $(BUILD)/bench)' OUT='$(abspath $(BUILD)/bench.md)' \
	    DOCUMENT=docs/benchmarks.md bench/run
	+@$(if $(QUICK),,$(again) bench-shards bench-tls)

bench-shards:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test bench
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' CXX='$(CXX)' \
	    WORK='$(abspath $(BUILD)/bench)' DOCUMENT=docs/benchmarks.md bench/shards

bench-scrape:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run test
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' DOCUMENT=docs/benchmarks.md bench/scrape

bench-saturation:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test bench valgrind
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' CXX='$(CXX)' \
	    WORK='$(abspath $(BUILD)/bench)' DOCUMENT=docs/benchmarks.md bench/saturation

bench-hedges:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	+@$(recurse) $(unbounded)
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' UNBOUNDED='$(abspath $(unbounded))' \
	    DOCUMENT=docs/benchmarks.md bench/hedges

$(unbounded): $(sources) $(headers) $(wildcard lua/*.lua) Makefile
	@rm -rf '$(unbounded_tree)' && mkdir -p '$(unbounded_tree)'
	@cp -r Makefile VERSION config lua src tools '$(unbounded_tree)'
	@sed -i 's/ least = 20;/ least = 1000000000;/' '$(unbounded_tree)/src/core/pacing.h'
	@grep -q 'least = 1000000000;' '$(unbounded_tree)/src/core/pacing.h'
	+@$(MAKE) --no-print-directory -C '$(unbounded_tree)' module BUILD=build DEPS='$(abspath $(DEPS))' NGINX='$(nginx)' \
	    $(if $(NGINX_SRC),NGINX_SRC='$(abspath $(NGINX_SRC))')

bench-far:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' DOCUMENT=docs/benchmarks.md bench/far

bench-regions:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' DOCUMENT=docs/benchmarks.md bench/regions

bench-tls:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test bench
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' CXX='$(CXX)' \
	    WORK='$(abspath $(BUILD)/bench)' DOCUMENT=docs/benchmarks.md bench/tls

bench-table:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build
	+@$(recurse) $(addprefix $(BUILD)/bench/,table walk offenders counters overrides bodies)
	$(BUILD)/bench/table
	$(BUILD)/bench/walk
	$(BUILD)/bench/offenders
	$(BUILD)/bench/counters
	$(BUILD)/bench/overrides
	$(BUILD)/bench/bodies

bench-scripts:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps redis test
	@OTHER='$(OTHER)' bench/scripts

bench-slots bench-fleet:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' $(@:bench-%=bench/%)

bench-accuracy:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' bench/accuracy

bench-plot:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module
	@mkdir -p docs
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' OUT=docs/lease.svg bench/plot

# Says where it is.
.PHONY: simulator
simulator: $(simulator)
	@echo '$(abspath $(simulator))'

$(replay): bench/simulate/replay/replay.cpp Makefile
	@mkdir -p $(@D)
	$(call quiet,CXX)$(CXX) -std=c++17 -O2 $(warnings) -o $@ $<

calibration := $(abspath $(BUILD)/simulate/calibration$(if $(QUICK),-quick).tsv)
simulate:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' tools/deps build run redis test
	+@$(recurse) module $(simulator) $(replay) $(BUILD)/differential/differential
	+@$(again) differential CALLS=$(if $(QUICK),2000,$(CALLS))
	@TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' SIMULATOR='$(abspath $(simulator))' REPLAY='$(abspath $(replay))' \
	    $(if $(QUICK),MACHINES=2 REPETITIONS=1 RUN_SECONDS=3) OUT='$(calibration)' bench/simulate/calibrate || [ $$? = 3 ]
	+@$(again) simulate-cells

simulate-cells: $(simulator)
	@SIMULATOR='$(abspath $(simulator))' CALIBRATION='$(calibration)' RUNS='$(or $(RUNS),$(abspath $(BUILD)/simulate/runs.tsv))' \
	    DOCUMENT=docs/benchmarks.md DRAWINGS=docs bench/simulate/run

$(addprefix $(BUILD)/bench/,table walk offenders counters overrides bodies): $(BUILD)/bench/%: bench/%.cpp bench/processor_time.h $(filter src/core/%,$(sources) $(headers)) Makefile
	@mkdir -p $(@D)
	$(call quiet,CXX)$(CXX) -std=c++17 -O2 $(warnings) -Isrc -I. -o $@ $(filter %.cpp,$^)

# This compares the Redis of virtual time with a real one: CALLS of each script; SEED repeats a run.
CALLS ?= 100000

$(clock_of_redis): t/differential/clock.c Makefile
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) -O2 $(warnings) -fPIC -shared -o $@ $<

.PHONY: differential
differential: $(differential)
	$(differential) $(abspath $(clock_of_redis)) $(CALLS) $(SEED)

clean:
	rm -rf $(addprefix $(BUILD)/,obj alone unit limiter world worlds sanitized-world differential nginx generated tidy sanitized valgrind fuzz faults past simulate bench bench.md $(other) deb deb-check image) $(module)

distclean: clean
	rm -rf $(DEPS)/hiredis $(DEPS)/hiredis-sources $(DEPS)/nginx-sanitized $(DEPS)/$(other) $(BUILD)/servers
	for dir in $(DEPS) $(BUILD); do if [ -d "$$dir" ]; then rmdir --ignore-fail-on-non-empty "$$dir"; fi; done

-include $(objects:.o=.d) $(unit_objects:.o=.d) $(world_object:.o=.d) $(worlds_object:.o=.d) $(worlds_main:.o=.d) $(fuzz_objects:.o=.d) $(program_objects:.o=.d)
